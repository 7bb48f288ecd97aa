// Walks a machine in XState: node xstate_check.mjs FOLDER, where FOLDER holds node_modules/xstate (version 5).
//
// Reads {"machine": the JSON of the machine, "lives": [[{"event": name, "answers": {question: answer}}]]} from stdin and
// writes [[{"row": id or null, "commands": [name], "state": name}]] to stdout: what the machine made of each event.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const { createActor, setup } = createRequire(resolve(process.argv[2], "package.json"))("xstate");
const { machine, lives } = JSON.parse(readFileSync(0, "utf8"));
console.warn = () => {}; // an event for an actor that has stopped is no news here

let rows = [];
let commands = [];
const transitions = Object.values(machine.states).flatMap((state) => Object.values(state.on ?? {}).flat());
const names = transitions.flatMap(({ actions }) => actions.map(({ type }) => type));
const logic = setup({
  guards: {
    answers: ({ event }, allowed) => Object.keys(allowed).every((name) => allowed[name].includes(event.answers[name])),
  },
  actions: {
    ...Object.fromEntries(names.map((name) => [name, () => commands.push(name)])),
    row: (_, { id }) => rows.push(id),
  },
}).createMachine(machine);

function live(life) {
  const actor = createActor(logic).start();
  return life.map(({ event, answers }) => {
    rows = [];
    commands = [];
    actor.send({ type: event, answers });
    return { row: rows.join(", ") || null, commands, state: actor.getSnapshot().value };
  });
}

process.stdout.write(JSON.stringify(lives.map(live)));
