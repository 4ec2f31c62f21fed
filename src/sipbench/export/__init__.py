"""Cards as tasks of other benchmarks: one module and one entry point (``sipbench.formats``) per format."""
