"""What OpenAI's own library for Python makes of Sluice's answers."""

import os
from typing import Literal

from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel, Field

from cases import api_key, base_url, case, model, raised, run_all

client = OpenAI(base_url=base_url, api_key=api_key, max_retries=0, timeout=120)
question = [{"role": "user", "content": "What is the capital of France?"}]
asked = {"model": model, "messages": question, "max_tokens": 12, "temperature": 0}
asked_for_response = {"model": model, "input": question, "max_output_tokens": 12, "temperature": 0}


class City(BaseModel):
    name: str = Field(min_length=1, max_length=20)
    size: Literal["small", "large"]
    population: int = Field(ge=1, le=99)


weather_tool = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {
            "type": "object",
            "properties": {"unit": {"enum": ["celsius", "kelvin"]}},
            "required": ["unit"],
            "additionalProperties": False,
        },
    },
}


@case
def models():
    return {"listed": [entry.id for entry in client.models.list()], "one": client.models.retrieve(model).id}


@case
def chat():
    answer = client.chat.completions.create(**asked)
    return {
        "text": answer.choices[0].message.content,
        "role": answer.choices[0].message.role,
        "finish": answer.choices[0].finish_reason,
        "tokens": [answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens],
    }


@case
def stream():
    whole = client.chat.completions.create(**asked).choices[0].message.content
    pieces, usage = [], None
    for chunk in client.chat.completions.create(**asked, stream=True, stream_options={"include_usage": True}):
        pieces += [choice.delta.content for choice in chunk.choices if choice.delta.content]
        usage = chunk.usage or usage
    return {"same": "".join(pieces) == whole, "pieces": len(pieces), "tokens": usage.completion_tokens}


@case
def tool_call():
    answer = client.chat.completions.create(
        **{**asked, "max_tokens": 60}, tools=[weather_tool], tool_choice={"type": "function", "function": {"name": "weather"}}
    )
    [call] = answer.choices[0].message.tool_calls
    return {"name": call.function.name, "arguments": call.function.arguments, "finish": answer.choices[0].finish_reason}


@case
def tool_stream():
    """The helper of the library puts the pieces of a call together."""
    asked_for_tool = {**asked, "max_tokens": 60, "tools": [weather_tool], "tool_choice": "required", "parallel_tool_calls": False}
    with client.chat.completions.stream(**asked_for_tool) as events:
        for _ in events:
            pass
        message = events.get_final_completion().choices[0].message
    return [{"name": call.function.name, "arguments": call.function.arguments} for call in message.tool_calls]


@case
def tool_answer():
    """A conversation goes on after a tool was called."""
    call = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"unit":"celsius"}'}}
    messages = [
        *question,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "21"},
    ]
    answer = client.chat.completions.create(**{**asked, "messages": messages}, tools=[weather_tool], tool_choice="none")
    return {"text": answer.choices[0].message.content, "calls": answer.choices[0].message.tool_calls}


@case
def structured_output():
    answer = client.chat.completions.parse(**{**asked, "max_tokens": 100}, response_format=City)
    city = answer.choices[0].message.parsed
    return {"class": type(city).__name__, "size": city.size, "population": city.population}


@case
def responses():
    response = client.responses.create(**asked_for_response)
    return {"text": response.output_text, "object": response.object, "tokens": response.usage.output_tokens}


@case
def responses_stream():
    with client.responses.stream(**asked_for_response) as events:
        types = [event.type for event in events]
    return {"first": types[0], "last": types[-1], "deltas": types.count("response.output_text.delta")}


@case
def responses_structured():
    parsed = client.responses.parse(**{**asked_for_response, "max_output_tokens": 100}, text_format=City)
    return {"class": type(parsed.output_parsed).__name__, "size": parsed.output_parsed.size}


@case
def completion():
    """The older route, with several prompts."""
    answer = client.completions.create(model=model, prompt=["One, two,", "A, B,"], max_tokens=3, temperature=0)
    return {"texts": [choice.text for choice in answer.choices], "object": answer.object}


@case
def embeddings():
    """Without saying otherwise, this library asks for base64 and decodes it."""
    answer = client.embeddings.create(model=model, input=["Paris", "Rome"])
    plain = client.embeddings.create(model=model, input="Paris", encoding_format="float")
    difference = max(abs(a - b) for a, b in zip(answer.data[0].embedding, plain.data[0].embedding))
    return {"sizes": [len(entry.embedding) for entry in answer.data], "same": difference < 1e-3}


@case
def model_not_found():
    return raised(lambda: client.chat.completions.create(**{**asked, "model": "nobody"}))


@case
def wrong_key():
    return raised(lambda: client.with_options(api_key="sk-wrong").models.list())


@case
def key_for_another_model():
    narrow = client.with_options(api_key=os.environ["SLUICE_NARROW_KEY"])
    return raised(lambda: narrow.chat.completions.create(**asked))


@case
def bad_parameter():
    return raised(lambda: client.chat.completions.create(**{**asked, "temperature": 9}))


@case
def timeout():
    """A client that gives up leaves the model to others. Hundreds of tokens take longer than it waits, anywhere."""
    many = {"type": "array", "items": {"type": "boolean"}, "minItems": 400}
    schema = {"type": "object", "properties": {"many": many}, "required": ["many"]}
    long = {"type": "json_schema", "json_schema": {"name": "long", "schema": schema}}
    hasty = client.with_options(timeout=0.1)
    error = raised(lambda: hasty.chat.completions.create(**{**asked, "max_tokens": 2000}, response_format=long))
    return {**error, "afterwards": client.chat.completions.create(**asked).choices[0].finish_reason}


@case
def raw_response():
    answer = client.chat.completions.with_raw_response.create(**asked, extra_body={"mystery": 1})
    return {"requestId": answer.headers.get("x-request-id"), "parsed": answer.parse().object}


@case
async def asynchronous():
    async with AsyncOpenAI(base_url=base_url, api_key=api_key, max_retries=0, timeout=120) as others:
        answer = await others.chat.completions.create(**asked)
        pieces = 0
        async for chunk in await others.chat.completions.create(**asked, stream=True):
            pieces += len(chunk.choices)
    return {"text": answer.choices[0].message.content, "streamed": pieces > 1}


@case
async def stream_left_early():
    """Who leaves a stream in the middle can ask again at once."""
    async with AsyncOpenAI(base_url=base_url, api_key=api_key, max_retries=0, timeout=120) as others:
        stream = await others.chat.completions.create(**{**asked, "max_tokens": 500}, stream=True)
        async for _ in stream:
            break
        await stream.close()
        answer = await others.chat.completions.create(**asked)
    return answer.choices[0].finish_reason


run_all()
