"""All providers with their rules; docs/developers/provider-rules.md says where each rule stands."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from urllib.parse import urlsplit

from pydantic import JsonValue

from monitor.llm.providers.profile import Behaviour, ProviderProfile, StructuredOutput, Thinking

_OLLAMA_PORT = 11434
_REASONING_CONTENT = frozenset({"reasoning_content"})
_THINKING_ON: Mapping[str, JsonValue] = {"thinking": {"type": "enabled"}}
_THINKING_OFF: Mapping[str, JsonValue] = {"thinking": {"type": "disabled"}}

_GPT_REASONING = Behaviour(
    tokens_field="max_completion_tokens",
    thinking=Thinking.ALWAYS,
    samples=False,
    samples_thinking=False,
    structured=StructuredOutput.SCHEMA,
)
_GPT_SWITCHED = Behaviour(
    tokens_field="max_completion_tokens",
    thinking=Thinking.SWITCHED,
    thinking_on={"reasoning_effort": "medium"},
    thinking_off={"reasoning_effort": "none"},
    samples_thinking=False,
    structured=StructuredOutput.SCHEMA,
)
_GPT_WITHOUT_TOOLS_THINKING = Behaviour(
    tokens_field="max_completion_tokens",
    thinking=Thinking.SWITCHED,
    thinking_on={"reasoning_effort": "medium"},
    thinking_off={"reasoning_effort": "none"},
    thinks_unasked=True,
    samples=False,
    samples_thinking=False,
    calls_tools_thinking=False,
    structured=StructuredOutput.SCHEMA,
)
_GPT_WITHOUT_TOOLS = Behaviour(
    tokens_field="max_completion_tokens",
    thinking=Thinking.ALWAYS,
    samples=False,
    samples_thinking=False,
    calls_tools_thinking=False,
    structured=StructuredOutput.SCHEMA,
)
_GPT_PLAIN = Behaviour(
    tokens_field="max_completion_tokens", thinking=Thinking.NEVER, structured=StructuredOutput.SCHEMA
)
_GPT_BEHAVIOURS = (
    (r"gpt-4.*|gpt-3.*|chatgpt-.*|gpt-5[\d.]*-chat.*", _GPT_PLAIN),
    (r"gpt-5\.[123](-\d{4}.*)?", _GPT_SWITCHED),
    (r"gpt-5\.[4-9].*|gpt-6.*-(luna|terra).*|gpt-6-sol.*", _GPT_WITHOUT_TOOLS_THINKING),
    (r"gpt-6.*", _GPT_WITHOUT_TOOLS),
    (r"gpt-5.*|o\d.*", _GPT_REASONING),
)

_OPENAI = ProviderProfile(
    name="openai",
    title="OpenAI",
    base_url="https://api.openai.com/v1",
    api_key_env="OPENAI_API_KEY",
    embedding_batch=2048,
    default=_GPT_REASONING,
    hosts=("api.openai.com",),
    behaviours=_GPT_BEHAVIOURS,
    remaining_header="x-ratelimit-remaining-requests",
    documents="https://platform.openai.com/docs",
)

_AZURE = ProviderProfile(
    name="azure",
    title="Azure OpenAI",
    base_url="https://{resource}.openai.azure.com/openai/v1",
    api_key_env="AZURE_OPENAI_API_KEY",
    embedding_batch=2048,
    default=_GPT_REASONING,
    hosts=("openai.azure.com", "services.ai.azure.com", "cognitiveservices.azure.com"),
    behaviours=_GPT_BEHAVIOURS,
    key_header="api-key",
    remaining_header="x-ratelimit-remaining-requests",
    documents="https://learn.microsoft.com/en-us/azure/foundry/openai/api-version-lifecycle",
)

_CLAUDE_ALWAYS = Behaviour(thinking=Thinking.ALWAYS, samples=False, samples_thinking=False)
_CLAUDE_ADAPTIVE = Behaviour(
    thinking=Thinking.SWITCHED,
    thinking_on={"thinking": {"type": "adaptive"}},
    thinking_off=_THINKING_OFF,
    samples=False,
    samples_thinking=False,
)
_ANTHROPIC = ProviderProfile(
    name="anthropic",
    title="Anthropic",
    base_url="https://api.anthropic.com/v1",
    api_key_env="ANTHROPIC_API_KEY",
    default=_CLAUDE_ALWAYS,
    hosts=("api.anthropic.com",),
    behaviours=(
        (r"claude-(sonnet|opus)-5(-\d{8})?", replace(_CLAUDE_ADAPTIVE, thinks_unasked=True)),
        (r"claude-opus-4-[78].*", _CLAUDE_ADAPTIVE),
        (r"claude-(sonnet|opus)-4-6.*", replace(_CLAUDE_ADAPTIVE, samples=True, samples_both=False)),
        (
            r"claude-(\d.*|(haiku|sonnet|opus)-4.*)",
            Behaviour(
                thinking=Thinking.SWITCHED,
                thinking_on={"thinking": {"type": "enabled", "budget_tokens": 2048}},
                samples_thinking=False,
                samples_both=False,
                calls_tools_thinking=False,
            ),
        ),
    ),
    remaining_header="anthropic-ratelimit-requests-remaining",
    documents="https://platform.claude.com/docs/en/cli-sdks-libraries/libraries/openai-sdk",
)

_GEMINI = ProviderProfile(
    name="gemini",
    title="Google Gemini",
    base_url="https://generativelanguage.googleapis.com/v1beta/openai",
    api_key_env="GEMINI_API_KEY",
    embedding_batch=100,
    default=Behaviour(
        thinking=Thinking.ALWAYS,
        thinking_on={"reasoning_effort": "high"},
        structured=StructuredOutput.SCHEMA,
        takes_nullable_types=False,
        returned_fields=frozenset({"extra_content"}),
    ),
    hosts=("generativelanguage.googleapis.com",),
    behaviours=(
        (
            r"gemini-2\.5-flash.*",
            Behaviour(
                thinking=Thinking.SWITCHED,
                thinking_on={"reasoning_effort": "medium"},
                thinking_off={"reasoning_effort": "none"},
                thinks_unasked=True,
                structured=StructuredOutput.SCHEMA,
                takes_nullable_types=False,
                returned_fields=frozenset({"extra_content"}),
            ),
        ),
        (
            r"gemini-[12]\.0.*|gemini-1\.5.*|gemma.*",
            Behaviour(thinking=Thinking.NEVER, structured=StructuredOutput.SCHEMA, takes_nullable_types=False),
        ),
    ),
    documents="https://ai.google.dev/gemini-api/docs/openai",
)

_DEEPSEEK = ProviderProfile(
    name="deepseek",
    title="DeepSeek",
    base_url="https://api.deepseek.com",
    api_key_env="DEEPSEEK_API_KEY",
    default=Behaviour(
        thinking=Thinking.SWITCHED,
        thinking_on=_THINKING_ON,
        thinking_off=_THINKING_OFF,
        thinks_unasked=True,
        samples_thinking=False,
        structured=StructuredOutput.OBJECT,
        wants_word_json=True,
        returned_fields=_REASONING_CONTENT,
    ),
    hosts=("api.deepseek.com",),
    documents="https://api-docs.deepseek.com",
)

_QWEN_HYBRID = Behaviour(
    thinking=Thinking.SWITCHED,
    thinking_on={"enable_thinking": True},
    thinking_off={"enable_thinking": False},
    thinks_unasked=True,
    streams_thinking=True,
    structured=StructuredOutput.OBJECT,
    structures_thinking=False,
    wants_word_json=True,
)
_QWEN_COMMERCIAL = Behaviour(
    thinking=Thinking.SWITCHED,
    thinking_on={"enable_thinking": True},
    thinking_off={"enable_thinking": False},
    streams_thinking=True,
    structured=StructuredOutput.SCHEMA,
    structures_thinking=False,
    wants_word_json=True,
)
_DASHSCOPE = ProviderProfile(
    name="dashscope",
    title="Alibaba Cloud Model Studio (Qwen)",
    base_url="https://dashscope.aliyuncs.com/compatible-mode/v1",
    api_key_env="DASHSCOPE_API_KEY",
    embedding_batch=10,
    default=_QWEN_HYBRID,
    hosts=("dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com", "dashscope-us.aliyuncs.com", "maas.aliyuncs.com"),
    behaviours=(
        (
            r".*(-thinking|thinking-\d{4}.*)|qwq.*|qvq.*|deepseek-r1.*|kimi-k3.*",
            Behaviour(thinking=Thinking.ALWAYS, streams_thinking=True, structures_thinking=False),
        ),
        (
            r"qwen3.*-instruct.*|qwen3-coder.*|qwen2.*|qwen-max.*|qwen-long.*",
            Behaviour(thinking=Thinking.NEVER, structured=StructuredOutput.OBJECT, wants_word_json=True),
        ),
        (r"qwen-(plus|flash|turbo).*|qwen3-max.*", _QWEN_COMMERCIAL),
    ),
    documents="https://help.aliyun.com/zh/model-studio/deep-thinking",
)

_KIMI_ALWAYS = Behaviour(
    tokens_field="max_completion_tokens",
    thinking=Thinking.ALWAYS,
    samples=False,
    samples_thinking=False,
    structured=StructuredOutput.OBJECT,
    returned_fields=_REASONING_CONTENT,
)
_MOONSHOT = ProviderProfile(
    name="moonshot",
    title="Moonshot (Kimi)",
    base_url="https://api.moonshot.cn/v1",
    api_key_env="MOONSHOT_API_KEY",
    default=_KIMI_ALWAYS,
    hosts=("api.moonshot.cn", "api.moonshot.ai", "api.kimi.com"),
    behaviours=(
        (
            r"kimi-k2\.[56](-\d.*)?",
            Behaviour(
                tokens_field="max_completion_tokens",
                thinking=Thinking.SWITCHED,
                thinking_on=_THINKING_ON,
                thinking_off=_THINKING_OFF,
                thinks_unasked=True,
                samples=False,
                samples_thinking=False,
                structured=StructuredOutput.OBJECT,
                returned_fields=_REASONING_CONTENT,
            ),
        ),
        (r"moonshot-v1.*|kimi-k2-(?!thinking).*", Behaviour(structured=StructuredOutput.OBJECT)),
    ),
    documents="https://platform.kimi.ai/docs",
)

_GLM = Behaviour(
    thinking=Thinking.SWITCHED,
    thinking_on=_THINKING_ON,
    thinking_off=_THINKING_OFF,
    thinks_unasked=True,
    structured=StructuredOutput.OBJECT,
    returned_fields=_REASONING_CONTENT,
)
_ZHIPU = ProviderProfile(
    name="zhipu",
    title="Zhipu (GLM)",
    base_url="https://open.bigmodel.cn/api/paas/v4",
    api_key_env="ZHIPUAI_API_KEY",
    embedding_batch=64,
    default=_GLM,
    hosts=("open.bigmodel.cn", "api.z.ai"),
    behaviours=(
        (r"glm-5\.3.*", replace(_GLM, thinking=Thinking.ALWAYS, thinking_on={}, thinking_off={}, thinks_unasked=False)),
        (r"glm-4(-.*)?", Behaviour(thinking=Thinking.NEVER, structured=StructuredOutput.OBJECT)),
        (r"glm-z1.*", Behaviour(thinking=Thinking.ALWAYS, calls_tools=False, returned_fields=_REASONING_CONTENT)),
    ),
    documents="https://docs.bigmodel.cn/cn/guide/capabilities/thinking-mode",
)

_VOLCENGINE = ProviderProfile(
    name="volcengine",
    title="Volcengine Ark (Doubao)",
    base_url="https://ark.cn-beijing.volces.com/api/v3",
    api_key_env="ARK_API_KEY",
    embedding_batch=64,
    default=Behaviour(
        thinking=Thinking.SWITCHED,
        thinking_on=_THINKING_ON,
        thinking_off=_THINKING_OFF,
        thinks_unasked=True,
        structured=StructuredOutput.OBJECT,
        returned_fields=_REASONING_CONTENT,
    ),
    hosts=("volces.com", "bytepluses.com"),
    behaviours=(
        (r"doubao-.*-thinking-.*", Behaviour(thinking=Thinking.ALWAYS, returned_fields=_REASONING_CONTENT)),
        (r"doubao-(1[.-]5-)?(pro|lite)-.*", Behaviour(thinking=Thinking.NEVER)),
    ),
    documents="https://www.volcengine.com/docs/82379/1330310",
)

_SILICONFLOW = ProviderProfile(
    name="siliconflow",
    title="SiliconFlow",
    base_url="https://api.siliconflow.cn/v1",
    api_key_env="SILICONFLOW_API_KEY",
    embedding_batch=32,
    default=Behaviour(structured=StructuredOutput.OBJECT),
    hosts=("api.siliconflow.cn", "api.siliconflow.com"),
    behaviours=(
        (r".*-thinking.*|deepseek-r1.*|qwq.*", Behaviour(thinking=Thinking.ALWAYS, returned_fields=_REASONING_CONTENT)),
        (r".*(instruct|coder).*|qwen2.*|hunyuan-mt.*", Behaviour(structured=StructuredOutput.OBJECT)),
        (
            r"qwen3.*|glm-.*|deepseek-v[34].*|kimi-k2\.[56].*|hunyuan-a13b.*",
            Behaviour(
                thinking=Thinking.SWITCHED,
                thinking_on={"enable_thinking": True},
                thinking_off={"enable_thinking": False},
                thinks_unasked=True,
                structured=StructuredOutput.OBJECT,
                returned_fields=_REASONING_CONTENT,
            ),
        ),
    ),
    documents="https://docs.siliconflow.cn/cn/api-reference/chat-completions/chat-completions",
)

_OPENROUTER = ProviderProfile(
    name="openrouter",
    title="OpenRouter",
    base_url="https://openrouter.ai/api/v1",
    api_key_env="OPENROUTER_API_KEY",
    embedding_batch=64,
    default=Behaviour(
        thinking=Thinking.SWITCHED,
        thinking_on={"reasoning": {"enabled": True}},
        thinking_off={"reasoning": {"enabled": False}},
        structured=StructuredOutput.SCHEMA,
        returned_fields=frozenset({"reasoning", "reasoning_details"}),
    ),
    hosts=("openrouter.ai",),
    context_path="/api/v1/models",
    documents="https://openrouter.ai/docs/use-cases/reasoning-tokens",
)

_OLLAMA = ProviderProfile(
    name="ollama",
    title="Ollama",
    base_url="http://localhost:11434/v1",
    api_key_env=None,
    embedding_batch=64,
    default=Behaviour(
        thinking=Thinking.SWITCHED,
        thinking_off={"reasoning_effort": "none"},
        thinking_on={"reasoning_effort": "medium"},
        thinks_unasked=True,
        structured=StructuredOutput.SCHEMA,
    ),
    hosts=("ollama.com",),
    behaviours=(
        (r"gpt-oss.*", Behaviour(thinking=Thinking.ALWAYS, structured=StructuredOutput.SCHEMA)),
        (r".*(instruct|gemma3|llama3|qwen2).*", Behaviour(thinking=Thinking.NEVER, structured=StructuredOutput.SCHEMA)),
    ),
    context_path="/api/show",
    fingerprint="fp_ollama",
    documents="https://docs.ollama.com/api/openai-compatibility",
    is_local=True,
)

_VLLM = ProviderProfile(
    name="vllm",
    title="vLLM",
    base_url="http://localhost:8000/v1",
    api_key_env=None,
    embedding_batch=64,
    default=Behaviour(structured=StructuredOutput.SCHEMA),
    behaviours=(
        (
            r".*-thinking.*|deepseek-r1.*|qwq.*|gpt-oss.*|kimi-k2-thinking.*",
            Behaviour(thinking=Thinking.ALWAYS, structured=StructuredOutput.SCHEMA),
        ),
        (r".*(instruct|coder).*|qwen2.*", Behaviour(thinking=Thinking.NEVER, structured=StructuredOutput.SCHEMA)),
        (
            r"(qwen3|glm-).*",
            Behaviour(
                thinking=Thinking.SWITCHED,
                thinking_on={"chat_template_kwargs": {"enable_thinking": True}},
                thinking_off={"chat_template_kwargs": {"enable_thinking": False}},
                thinks_unasked=True,
                structured=StructuredOutput.SCHEMA,
            ),
        ),
    ),
    context_path="/v1/models",
    documents="https://docs.vllm.ai/en/stable/features/tool_calling/",
    is_local=True,
)

_LITELLM = ProviderProfile(
    name="litellm",
    title="LiteLLM proxy",
    base_url="http://localhost:4000/v1",
    api_key_env="LITELLM_API_KEY",
    embedding_batch=64,
    default=Behaviour(
        structured=StructuredOutput.OBJECT, returned_fields=frozenset({"reasoning_content", "thinking_blocks"})
    ),
    context_path="/model/info",
    answer_header="x-litellm-call-id",
    remaining_header="x-ratelimit-remaining-requests",
    documents="https://docs.litellm.ai/docs/simple_proxy",
    is_local=True,
)

_GENERIC = ProviderProfile(
    name="generic",
    title="Any other server",
    base_url=None,
    api_key_env="OPENAI_API_KEY",
    embedding_batch=32,
    default=Behaviour(),
    context_path="/v1/models",
)

PROVIDERS: Mapping[str, ProviderProfile] = MappingProxyType(
    {
        profile.name: profile
        for profile in (
            _OPENAI,
            _AZURE,
            _ANTHROPIC,
            _GEMINI,
            _DEEPSEEK,
            _DASHSCOPE,
            _MOONSHOT,
            _ZHIPU,
            _VOLCENGINE,
            _SILICONFLOW,
            _OPENROUTER,
            _OLLAMA,
            _VLLM,
            _LITELLM,
            _GENERIC,
        )
    }
)


def get_provider(name: str) -> ProviderProfile:
    """Return the profile of that name; raise `KeyError` for a name that none has."""
    return PROVIDERS[name]


def find_provider(base_url: str | None) -> ProviderProfile:
    """Return whose address that is: by its host, by Ollama's port, else the profile of any other server."""
    try:
        url = urlsplit(base_url or "")
        host, port = (url.hostname or "").rstrip("."), url.port
    except ValueError:
        return _GENERIC
    for profile in PROVIDERS.values():
        if any(host == ending or host.endswith(f".{ending}") for ending in profile.hosts):
            return profile
    return _OLLAMA if port == _OLLAMA_PORT else _GENERIC


def recognise_answer(header_names: Iterable[str], fingerprint: str | None) -> ProviderProfile | None:
    """Return which server answers like that, where its answers give it away.

    `fingerprint` is the answer's `system_fingerprint`.
    """
    names = {name.lower() for name in header_names}
    for profile in PROVIDERS.values():
        if profile.answer_header in names:
            return profile
        if profile.fingerprint and fingerprint and fingerprint.startswith(profile.fingerprint):
            return profile
    return None
