"""What the model is told in a research, as wordings that an administrator may put others in place of."""

from monitor.domain.prompts import Prompt
from monitor.research.prompts import deep_search, modeling, reporting

PROMPTS: tuple[Prompt, ...] = (*deep_search.PROMPTS, *modeling.PROMPTS, *reporting.PROMPTS)
"""Every wording, in the order of the work."""
