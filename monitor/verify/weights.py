"""How heavily each sign weighs in a verdict: a logistic regression over `fixtures/statements/open-*`.

`make bench NAME=verify ARGS=--fit` computes them anew; nothing here is set by hand but the two bounds.
"""

BIAS = -0.316
REFUSED_FROM = 0.68
"""The doubt from which code refuses a statement: about one true statement in twelve has more."""

SURE_UP_TO = 0.15
"""The doubt up to which code settles a statement as supported; between the two it is unchecked."""

WEIGHTS: dict[str, float] = {
    "against": 0.797,
    "against borne": 1.107,
    "attribution left": 0.505,
    "bearers": -0.125,
    "citation other": 0.887,
    "clean": -0.983,
    "context": 2.035,
    "coverage": -0.523,
    "cross": 0.003,
    "date apart": -0.971,
    "date other": 1.064,
    "date rival": 1.248,
    "date swapped": 2.394,
    "figure apart": -0.513,
    "figure bound": 2.100,
    "figure bound left": 1.086,
    "figure bound new": -0.072,
    "figure direction": 1.373,
    "figure elsewhere": -0.223,
    "figure other": -0.313,
    "figure other borne": 1.096,
    "figure rival borne": 1.787,
    "figure swapped": 1.484,
    "foreign": 0.644,
    "foreign borne": 4.465,
    "left": 0.089,
    "low coverage": -2.395,
    "moved": -0.173,
    "moved borne": 0.416,
    "name apart": 0.106,
    "name apart rival": 1.820,
    "name head rival": 0.443,
    "name missing": 2.784,
    "name near": -0.411,
    "name near rival": 1.008,
    "negation added": -0.441,
    "negation lost": 0.572,
    "negation lost borne": 0.599,
    "never": 0.649,
    "never all": 0.910,
    "never borne": 0.872,
    "novel": 0.334,
    "period other": 0.628,
    "roles passive": 1.187,
    "roles turned": 1.069,
    "slot foreign": 0.236,
    "slot novel": 0.262,
    "slot variant": -0.298,
    "speaker other": 0.499,
    "speech other": 1.228,
    "subject foreign borne": 0.362,
}
