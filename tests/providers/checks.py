"""What servers of providers refuse; docs/developers/provider-rules.md says where each rule stands."""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from tests.providers.exchange import Exchange, Refusal, write_google_error, write_openai_error

Check = Callable[[Exchange], Refusal | None]

KNOWN_FIELDS = frozenset(
    {
        *("model", "messages", "temperature", "top_p", "max_tokens", "max_completion_tokens", "stream"),
        *("stream_options", "tools", "tool_choice", "parallel_tool_calls", "response_format", "reasoning_effort"),
        *("n", "seed", "stop", "user"),
    }
)
"""The fields of chat completions that all servers here know."""


def refuse_unknown_fields(*known: str) -> Check:
    """OpenAI refuses a field that it does not know."""
    allowed = KNOWN_FIELDS | set(known)

    def check(exchange: Exchange) -> Refusal | None:
        for name in exchange.body.keys() - allowed:
            return write_openai_error(400, f"Unknown parameter: '{name}'.", code="unknown_parameter", param=name)
        return None

    return check


def refuse_fields_unknown_to_google(exchange: Exchange) -> Refusal | None:
    for name in exchange.body.keys() - KNOWN_FIELDS - {"extra_body"}:
        return write_google_error(f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.')
    return None


def refuse_sampling(exchange: Exchange) -> Refusal | None:
    """Reasoning models of OpenAI take no temperature but 1."""
    for name in ("temperature", "top_p"):
        if name in exchange.body and exchange.body[name] != 1:
            said = f"Unsupported value: '{name}' does not support {exchange.body[name]} with this model."
            text = f"{said} Only the default (1) value is supported."
            return write_openai_error(400, text, code="unsupported_value", param=name)
    return None


def refuse_max_tokens(exchange: Exchange) -> Refusal | None:
    if "max_tokens" not in exchange.body:
        return None
    text = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    return write_openai_error(400, text, code="unsupported_parameter", param="max_tokens")


def refuse_tools_while_thinking(exchange: Exchange) -> Refusal | None:
    """From gpt-5.4 on, chat completions offers no tools to a model that thinks."""
    if not (exchange.tools and exchange.thinks):
        return None
    model = exchange.body.get("model")
    text = f"Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions."
    text += " To use function tools, use /v1/responses or set reasoning_effort to 'none'."
    return write_openai_error(400, text, param="reasoning_effort")


def refuse_effort_none(exchange: Exchange) -> Refusal | None:
    """What always thinks does not take `none`."""
    if exchange.body.get("reasoning_effort") != "none":
        return None
    text = "Unsupported value: 'reasoning_effort' does not support 'none' with this model."
    return write_openai_error(400, text, code="unsupported_value", param="reasoning_effort")


def refuse_effort_none_of_google(exchange: Exchange) -> Refusal | None:
    if exchange.body.get("reasoning_effort") == "none":
        return write_google_error("Request contains an invalid argument.")
    return None


def refuse_missing_reasoning(text: str) -> Check:
    """While the model thinks, each turn with tool calls has to bring `reasoning_content` back, an empty one too."""

    def check(exchange: Exchange) -> Refusal | None:
        if not exchange.thinks:
            return None
        for place, message in exchange.list_tool_turns():
            if not isinstance(message.get("reasoning_content"), str):
                return write_openai_error(400, text.format(place=place), code="invalid_request_error")
        return None

    return check


def refuse_missing_signatures(exchange: Exchange) -> Refusal | None:
    """Gemini 3 wants the signature of the first call of each turn back, as it was."""
    for place, message in exchange.list_tool_turns():
        call = message["tool_calls"][0]
        extra = call.get("extra_content") or {}
        signature = (extra.get("google") or {}).get("thought_signature")
        if not signature:
            text = "Function call is missing a thought_signature in functionCall parts. This is required for tools to"
            text += " work correctly, and missing thought_signature may lead to degraded model performance. Additional"
            name = call["function"]["name"]
            text += f" data, function call `default_api:{name}` , position {place}. Please refer to"
            return write_google_error(f"{text} https://ai.google.dev/gemini-api/docs/thought-signatures.")
        if signature != sign_call(call):
            return write_google_error("Corrupted thought signature.")
    return None


def sign_call(call: Mapping[str, Any]) -> str:
    return f"signature-of-{call['id']}"


def refuse_listed_types(exchange: Exchange) -> Refusal | None:
    """A type is one word at Gemini, wherever it stands in the schema of a tool."""
    for number, tool in enumerate(exchange.tools):
        for path, value in walk_schema(tool["function"].get("parameters") or {}, "parameters"):
            if path.endswith(".type") and isinstance(value, list):
                where = f"tools[0].function_declarations[{number}].{path.removesuffix('.type')}"
                text = f"Invalid JSON payload received. Unknown name \"type\" at '{where}': "
                return write_google_error(text + "Proto field is not repeating, cannot start list.")
    return None


def walk_schema(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    yield path, value
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in entries:
        yield from walk_schema(inner, f"{path}.{name}")


def refuse_whole_answers_while_thinking(exchange: Exchange) -> Refusal | None:
    """Open Qwen3 at DashScope answers a request that lets it think only as a stream."""
    if exchange.is_streamed or not exchange.thinks:
        return None
    text = "parameter.enable_thinking must be set to false for non-streaming calls"
    return write_openai_error(400, text, code="invalid_parameter_error")


def refuse_json_while_thinking(exchange: Exchange) -> Refusal | None:
    if exchange.thinks and exchange.format is not None:
        text = "Json mode response is not supported when enable_thinking is true"
        return write_openai_error(400, text, code="invalid_parameter_error")
    return None


def refuse_json_without_its_word(exchange: Exchange) -> Refusal | None:
    if exchange.format == "json_object" and not exchange.mentions("json"):
        text = "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."
        return write_openai_error(400, text, code="invalid_parameter_error")
    return None


def refuse_schemas(exchange: Exchange) -> Refusal | None:
    if exchange.format == "json_schema":
        return write_openai_error(400, "This response_format type is unavailable now", code="invalid_request_error")
    return None


def refuse_bare_arrays(exchange: Exchange) -> Refusal | None:
    """The root of a schema has to be an object, and each object closed with all of its properties required."""
    if exchange.format != "json_schema":
        return None
    asked = exchange.body["response_format"]["json_schema"]
    schema = asked["schema"]
    if schema.get("type") != "object":
        text = f"Invalid schema for response_format '{asked.get('name')}': schema must be a JSON Schema of 'type: "
        return write_openai_error(
            400, f'{text}"object"\', got \'type: "{schema.get("type")}"\'.', param="response_format"
        )
    if not asked.get("strict"):
        return None
    for path, part in walk_schema(schema, "schema"):
        if not isinstance(part, dict) or part.get("type") != "object":
            continue
        if part.get("additionalProperties") is not False or set(part.get("required", ())) != set(part["properties"]):
            text = f"Invalid schema for response_format: In context={path}, 'required' is required to be supplied"
            return write_openai_error(400, text, param="response_format")
    return None


def refuse_other_temperatures(exchange: Exchange) -> Refusal | None:
    """Kimi's temperature is 1 while it thinks, and 0.6 otherwise."""
    allowed = 1 if exchange.thinks else 0.6
    if exchange.body.get("temperature", allowed) == allowed:
        return None
    text = f"invalid temperature: only {allowed} is allowed for this model"
    return Refusal(400, {"error": {"message": text, "type": "invalid_request_error"}})


def write_anthropic_error(text: str, status: int = 400, kind: str = "invalid_request_error") -> Refusal:
    return Refusal(status, {"error": {"code": kind, "message": text, "type": kind, "param": None}})


def refuse_both_samples(exchange: Exchange) -> Refusal | None:
    if exchange.body.keys() >= {"temperature", "top_p"}:
        return write_anthropic_error(
            "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
        )
    return None


def refuse_temperature_while_thinking(exchange: Exchange) -> Refusal | None:
    if exchange.thinks and exchange.body.get("temperature", 1) != 1:
        return write_anthropic_error("`temperature` may only be set to 1 when thinking is enabled.")
    return None


def refuse_old_samples(exchange: Exchange) -> Refusal | None:
    for name in ("temperature", "top_p"):
        if name in exchange.body:
            return write_anthropic_error(f"`{name}` is deprecated for this model.")
    return None


def refuse_turns_without_thoughts(exchange: Exchange) -> Refusal | None:
    """With a budget for thoughts, the turn after a tool call would have to begin with thoughts that never came."""
    if not exchange.thinks:
        return None
    for place, _ in exchange.list_tool_turns():
        text = f"messages.{place}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`."
        text += " When `thinking` is enabled, a final `assistant` message must start with a thinking block"
        return write_anthropic_error(f"{text} (preceeding the lastmost set of `tool_use` and `tool_result` blocks).")
    return None


def refuse_thinking_disabled(exchange: Exchange) -> Refusal | None:
    if (exchange.body.get("thinking") or {}).get("type") == "disabled":
        return write_anthropic_error("thinking.type: 'disabled' is not supported for this model.")
    return None


def refuse_disabled_by_glm(exchange: Exchange) -> Refusal | None:
    """The code of Zhipu's errors is a number, as text."""
    if (exchange.body.get("thinking") or {}).get("type") == "disabled":
        return Refusal(400, {"error": {"code": "1210", "message": "API 调用参数有误，请检查文档。"}})
    return None


def refuse_disabled_by_ark(exchange: Exchange) -> Refusal | None:
    if (exchange.body.get("thinking") or {}).get("type") == "disabled":
        text = "Unsupported thinking type for the current model: disabled Request id: 0217"
        return Refusal(400, {"error": {"code": "InvalidParameter", "message": text, "type": "BadRequest"}})
    return None


def refuse_effort_without_thinking(exchange: Exchange) -> Refusal | None:
    effort = exchange.body.get("reasoning_effort")
    if (exchange.body.get("thinking") or {}).get("type") == "disabled" and effort not in (None, "none", "minimal"):
        text = f"Invalid combination of reasoning_effort and thinking type: {effort} + disabled"
        return Refusal(400, {"error": {"code": "InvalidParameter", "message": text, "type": "BadRequest"}})
    return None


def refuse_fields_of_siliconflow(names: Collection[str]) -> Check:
    """SiliconFlow's errors stand in no `error`."""

    def check(exchange: Exchange) -> Refusal | None:
        for name in exchange.body.keys() & set(names):
            text = f"Value error, current model does not support parameter `{name}`."
            return Refusal(400, {"code": 20015, "message": text, "data": None})
        return None

    return check


def refuse_forced_tools(exchange: Exchange) -> Refusal | None:
    if exchange.thinks and exchange.tools and exchange.body.get("tool_choice", "auto") not in ("auto", "none"):
        return write_openai_error(400, "Thinking mode does not support this tool_choice")
    return None


def refuse_tools_without_parser(exchange: Exchange) -> Refusal | None:
    if not exchange.tools:
        return None
    text = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
    return Refusal(400, {"error": {"message": text, "type": "BadRequestError", "param": None, "code": 400}})


def refuse_tools_of_ollama(exchange: Exchange) -> Refusal | None:
    if not exchange.tools:
        return None
    text = f"registry.ollama.ai/library/{exchange.body.get('model')} does not support tools"
    return Refusal(400, {"error": {"message": text, "type": "api_error", "param": None, "code": None}})


def refuse_thinking_of_ollama(exchange: Exchange) -> Refusal | None:
    if exchange.body.get("reasoning_effort") in (None, "none"):
        return None
    text = f'"{exchange.body.get("model")}" does not support thinking'
    return Refusal(400, {"error": {"message": text, "type": "api_error", "param": None, "code": None}})


def refuse_long_prompts(context_tokens: int) -> Check:
    """vLLM refuses what does not fit its context, answer included."""

    def check(exchange: Exchange) -> Refusal | None:
        prompt, answer = exchange.prompt_tokens, exchange.max_tokens or 0
        if prompt + answer < context_tokens:
            return None
        text = f"This model's maximum context length is {context_tokens} tokens. However, you requested"
        text += f" {prompt + answer} tokens ({prompt} in the messages, {answer} in the completion)."
        error = {"message": text, "type": "BadRequestError", "param": None, "code": 400}
        return Refusal(400, {"error": error})

    return check


def refuse_fields_by_litellm(*names: str) -> Check:
    def check(exchange: Exchange) -> Refusal | None:
        found = sorted(exchange.body.keys() & set(names))
        if not found:
            return None
        text = f"litellm.UnsupportedParamsError: bedrock does not support parameters: {found}, for model="
        text += f"{exchange.body.get('model')}. To drop these, set `litellm.drop_params=True`"
        return Refusal(400, {"error": {"message": text, "type": "None", "param": None, "code": "400"}})

    return check
