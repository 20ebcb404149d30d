"""What the model is told in a research, as wordings that an administrator may put others in place of."""

from monitor.domain.prompts import Prompt
from monitor.research.prompts.deep_search import DEEP_SEARCH_PROMPTS
from monitor.research.prompts.modeling import MODELING_PROMPTS
from monitor.research.prompts.reporting import REPORTING_PROMPTS

RESEARCH_PROMPTS: tuple[Prompt, ...] = (*DEEP_SEARCH_PROMPTS, *MODELING_PROMPTS, *REPORTING_PROMPTS)
"""Every wording, in the order of the work."""
