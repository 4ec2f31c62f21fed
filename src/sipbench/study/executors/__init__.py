"""What carries out the jobs of a study: the contract in ``base``, one module or more per executor."""
