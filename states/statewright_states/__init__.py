"""What a run may be and how it may change: declared tables, their vocabulary, and the ports to the outside.

Pure: standard library only, no input or output, no time, no chance. ``run.table.RUN``, ``call.table.CALL``,
``tool.table.TOOL`` and ``plan_build.table.PLAN_BUILD`` are the program; everything else in Statewright carries out,
records, draws or checks them.
"""
