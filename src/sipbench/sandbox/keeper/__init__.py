"""The helper process that owns one box.

A keeper makes the namespaces, starts bubblewrap, enters the box for every
command and transfer, holds the limits, and ends everything when the process
that asked for it is gone, even by ``kill -9``. It runs with the standard library
alone and no host environment.

Commands enter by ``setns`` from memory already loaded here: no program is looked
up in the box before privileges are gone, because an agent may have replaced it.
"""
