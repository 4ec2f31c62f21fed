"""What must not leak from a card: its answer, and what belongs to the machine that made it.

==============  ==================================================================================
``visible``     the fields that an agent may see; everything else is opt-in
``secrets``     the finding, the evidence and the ledger, as what is looked for
``words``       texts as words: what two texts share once spelling no longer differs
``search``      secrets in files
``traces``      paths, addresses, marks, hidden text, orders to a model, file names
``guard``       all of it over files that are about to leave, and what was allowed with a reason
==============  ==================================================================================
"""
