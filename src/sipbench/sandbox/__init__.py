"""A sandbox on bubblewrap for machines without Docker.

::

    policy      what a box may see: the allow-list of host files, devices, variables
    bwrap       the binary, what this machine can do, the argument vector
    limits      processor, memory, processes, disk: what is asked and what held
    box         one running sandbox: exec, sweep, stop
    streams     its output, collected as bytes up to a bound
    transfer    files in and out that a hostile tree cannot redirect
    network     none, a filtering proxy, or the host's network
    store       the directories of layers and boxes on disk; clean
    base        the lowest layer: this machine's system, or a given root file system
    image       a base with layers, and how a box mounts them
    dockerfile  the steps of a Dockerfile        context  the files it may copy
    layers      those steps carried out, cached by digest
    ready       all that must be there first      task    what a Harbor task asks that a box cannot give
    options     what a user may set              record   what is written down about a box
    harbor_env  the environment class that Harbor loads
    launcher    the process that forks keepers   threads  blocking work beside an event loop
    keeper/     the helper process that owns one box (standard library only)

Nothing is imported here: the keeper imports this package with the standard
library alone, and `sip --help` must not pay for it.
"""
