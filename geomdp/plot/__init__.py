"""Pictures: every function draws on ``ax=`` and returns its artists; matplotlib is imported when drawing.

* ``dual``: weight space, with both parties' low-error regions, their hulls and the plane between them.
* ``rounds``: what each round of halfspace elimination leaves.
* ``containers``: the cones of a container family, and what one container leaves out.
* ``crossover``: certified resolutions of all testers, against epsilon, n or the domain's size.
* ``power``: simulated probabilities of Far, with confidence bands, against the true optimum.
* ``learning``: error of private learners against the number of records.
* ``plane``: the data, the best line, and the records that it gets wrong.

Which cell is where, what it gets wrong and which side of a line it is on is decided in integers before
anything is drawn. Pictures show the records that they are given: they are for the holder's eyes, or for
public data.
"""
