"""Estimation: arrays in, numbers out. Only ``tables`` reads a file, and nothing knows a study's folder.

From attempts to a summary:

=================  =====================================================================
``tables``         run records as columns, read with every check or trusted
``means``          rows of the summary; task means, per task first, then per repeat
``tallies``        the plan laid over the attempts: what was asked for and what became of it
``changes``        a change between two phases: paired, or cross-fitted where replay is
``control``        which frozen arm an arm is compared with
``adjusted``       difference in differences, and tasks by adaptations
``estimates``      the metrics of one row: value, sd over repeats, interval
``losses``         lost attempts in the metrics made of others: BR_ratio, IE, NIS
``crossfit_lost``  lost attempts in cross-fitted replay, fold by fold
``method_lost``    lost attempts in a claim about a method
``noise``          noise floors, variance parts and pass rates of a cell
``taskwise``       the change of each task, raw and shrunken
``replay``         how replay was chosen, and what that alone does to BR
``inference``      a finding: a change with all that a verdict rests on
``judgement``      findings to verdicts, Holm over the arms
``spending``       what learning cost, apart from what evaluation cost
``caveats``        what a reader must know of a row, as typed warnings
``entries``        estimates as the summary's models hold them
``rows``           all of it, per arm
``summarize``      attempts in, ``Summary`` out
=================  =====================================================================

The estimators (import the module you need: the package alone loads neither them nor scipy):

=================  =====================================================================
``intervals``      the default interval: paired t on task means, clustered by family
``contrasts``      paired contrasts, difference in differences, claims about a method
``signflip``       the sign-flip permutation test by families
``multiplicity``   Holm, Benjamini-Hochberg
``ratio``          Fieller intervals (IE, BR_ratio), the joint (gain, cost) region, the NIS box
``missing``        complete-case, errors-as-0, bounds, coverage and its gate, attrition
``selection``      replay selection: cross-fitting, and the bias of scoring what one selected on
``repeats``        sd over repeats, and the variance between tasks, between repeats and within
``passk``          pass@k and pass^k without bias
``shrinkage``      empirical-Bayes deltas per task
``power``          noise floor, detectable effect, testable margin, sizes needed
``bootstrap``      family bootstrap, for statistics without a closed form only
``undercoverage``  when the default interval is known to be too narrow
``verdicts``       the words: improved, worse, no evidence, inconclusive, retained, loss, ...
``calibrate``      simulations that all of these must pass
=================  =====================================================================

What the report shows and no summary holds:

=================  =====================================================================
``profiles``       the mean of each phase with its interval, and tasks that went alike
``per_task``       changes of tasks as bars, attempts as a grid, in as many pieces as can be drawn
``flow``           planned, run, graded, scored: what was lost, by cause
``exposure``       skills that were given and opened
``timeline``       when attempts began, and whether the arms took turns
``frontier``       the arms that no cheaper arm gains more than
=================  =====================================================================

Estimates that do not exist are ``None`` with a reason. NaN in an input is a
``ValueError``: a missing value must have been decided upon before it comes here.
"""
