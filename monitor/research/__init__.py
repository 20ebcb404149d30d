"""The research engine: a question is planned, searched, modelled and answered with a report."""
