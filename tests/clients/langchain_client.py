"""What LangChain makes of Sluice's answers."""

from typing import Literal

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from pydantic import BaseModel

from cases import api_key, base_url, case, model, raised, run_all

usual = {"base_url": base_url, "api_key": api_key, "max_retries": 0, "timeout": 120, "temperature": 0}
chat_model = ChatOpenAI(model=model, max_tokens=12, **usual)
talkative = ChatOpenAI(model=model, max_tokens=100, **usual)
question = [HumanMessage("What is the capital of France?")]


class City(BaseModel):
    """A city."""

    name: str
    size: Literal["small", "large"]


@tool
def weather(unit: Literal["celsius", "kelvin"]) -> str:
    """Tells the weather."""
    return f"21 {unit}"


@case
def invoke():
    message = chat_model.invoke(question)
    return {"text": message.content, "type": message.type, "usage": dict(message.usage_metadata)}


@case
def stream():
    pieces = [piece.content for piece in chat_model.stream(question)]
    return {"same": "".join(pieces) == chat_model.invoke(question).content, "pieces": len(pieces)}


@case
async def asynchronous():
    pieces = [piece.content async for piece in chat_model.astream(question)]
    return {"text": (await chat_model.ainvoke(question)).content, "pieces": len(pieces)}


@case
def batch():
    return [type(message).__name__ for message in chat_model.batch([question, "Hi", "Hello"])]


@case
def structured_output():
    """By a schema of the answer, and by a tool that it is made to call."""
    sizes = []
    for method in ["json_schema", "function_calling"]:
        city = talkative.with_structured_output(City, method=method).invoke("Name a city.")
        sizes.append([type(city).__name__, city.size])
    return sizes


@case
def tools():
    message = talkative.bind_tools([weather], tool_choice="weather").invoke("What is the weather?")
    [call] = message.tool_calls
    told = weather.invoke(call)
    after = chat_model.bind_tools([weather], tool_choice="none").invoke([HumanMessage("Weather?"), message, told])
    return {"name": call["name"], "told": isinstance(told, ToolMessage), "text": after.content}


@case
def responses():
    message = ChatOpenAI(model=model, max_tokens=12, use_responses_api=True, **usual).invoke(question)
    return {"text": message.text, "tokens": message.usage_metadata["output_tokens"]}


@case
def embeddings():
    # It would fetch a vocabulary of OpenAI's otherwise, to send numbers that no other model understands.
    plain = OpenAIEmbeddings(model=model, base_url=base_url, api_key=api_key, check_embedding_ctx_length=False)
    return [len(vector) for vector in plain.embed_documents(["Paris", "Rome"])]


@case
def model_not_found():
    return raised(lambda: ChatOpenAI(model="nobody", **usual).invoke("Hi"))


@case
def wrong_key():
    return raised(lambda: ChatOpenAI(model=model, **{**usual, "api_key": "sk-wrong"}).invoke("Hi"))


run_all()
