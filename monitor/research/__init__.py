"""A question, answered with evidence: plan, deep search, modelling, report."""
