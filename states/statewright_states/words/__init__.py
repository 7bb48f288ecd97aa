"""What the machines and the engine say to each other: vocabulary, messages, approval, ports."""
