"""What LlamaIndex makes of Sluice's answers."""

from typing import Literal

from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike
from pydantic import BaseModel

from cases import api_key, base_url, case, model, raised, run_all

usual = {"model": model, "api_base": base_url, "api_key": api_key, "is_chat_model": True, "max_retries": 0}
# It counts on a context that it is told of, else on one of 3,900 tokens.
llm = OpenAILike(max_tokens=12, temperature=0, timeout=120, context_window=2048, **usual)
calling = OpenAILike(max_tokens=100, temperature=0, timeout=120, is_function_calling_model=True, **usual)
question = [ChatMessage(role="user", content="What is the capital of France?")]


class City(BaseModel):
    """A city."""

    name: str
    size: Literal["small", "large"]


def weather(unit: Literal["celsius", "kelvin"]) -> str:
    """Tells the weather."""
    return f"21 {unit}"


@case
def chat():
    answer = llm.chat(question)
    return {"text": answer.message.content, "role": answer.message.role.value, "id": answer.raw.model}


@case
def stream():
    pieces = [piece.delta for piece in llm.stream_chat(question)]
    return {"same": "".join(pieces) == llm.chat(question).message.content, "pieces": len(pieces)}


@case
def complete():
    return {"text": llm.complete("One, two,").text, "streamed": [piece.text for piece in llm.stream_complete("Hi")][-1]}


@case
async def asynchronous():
    pieces = [piece.delta async for piece in await llm.astream_chat(question)]
    return {"text": (await llm.achat(question)).message.content, "pieces": len(pieces)}


@case
def tools():
    answer = calling.chat_with_tools([FunctionTool.from_defaults(weather)], "What is the weather?", tool_required=True)
    return [[call.tool_name, call.tool_kwargs] for call in calling.get_tool_calls_from_response(answer)]


@case
def structured_output():
    city = calling.as_structured_llm(City).complete("Name a city.").raw
    return {"class": type(city).__name__, "size": city.size}


@case
def wrong_key():
    return raised(lambda: OpenAILike(**{**usual, "api_key": "sk-wrong"}).chat(question))


run_all()
