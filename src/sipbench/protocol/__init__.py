"""The protocol: its words, its records, its split rules and its metrics.

This floor imports nothing above it and does no I/O beyond JSON files.

=====================  ===================================================
``vocabulary``         phases, splits, path types, statuses
``digests``            canonical JSON and directory digests
``records``            one attempt: :class:`~sipbench.protocol.records.RunRecord`
``adaptations``        one adaptation: what it made and what it cost
``jsonl``              reading, validating and appending records
``versions``           schema versions, and how older ones are read
``v0``                 SIP-Bench v0.1.0: reading its records, writing them, its arithmetic
``manifest``           which task is in which split, and how that was chosen
``rules``              the protocol's four split rules
``overlap``            sizes of splits, and what two of them share
``settings``           what a summary is computed with
``metrics``            FG, BR, BR_ratio, IE, PDS, NIS: the definitions
``summary``            what came out of a study
``schemas``            JSON Schemas of the persisted formats, from the models
``folder``             a study directory as a reader sees it
``validation``         checking a file of any kind, problem by problem
``compat``             v0.1.0 records and summaries from files of either version
=====================  ===================================================
"""
