BIAS = 0.0
REFUSED_FROM = 0.5
SURE_UP_TO = 0.1
WEIGHTS: dict[str, float] = {}
