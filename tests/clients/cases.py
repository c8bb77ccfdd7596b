"""Runs the cases of a client program and prints, for each of them, what the library handed over, as a line of JSON."""

import asyncio
import inspect
import json
import os
import traceback

base_url = os.environ["SLUICE_BASE_URL"]
api_key = os.environ["SLUICE_API_KEY"]
model = os.environ["SLUICE_MODEL"]

_cases = {}


def case(function):
    """Makes a function a case, which is named like it."""
    _cases[function.__name__] = function
    return function


def run_all():
    for name, function in _cases.items():
        try:
            result = function()
            if inspect.isawaitable(result):
                result = asyncio.run(_awaited(result))
            line = {"case": name, "facts": result}
        except Exception:
            line = {"case": name, "error": traceback.format_exc()}
        print(json.dumps(line), flush=True)


async def _awaited(result):
    return await result


def raised(function):
    """The library's own exception for what goes wrong: its class, status, code and message."""
    try:
        function()
    except Exception as error:
        return {
            "class": type(error).__name__,
            "status": getattr(error, "status_code", None),
            "code": getattr(error, "code", None),
            "message": str(error),
        }
    return None
