// The module that runs a script in Python. It runs where the script runs, and the script can change it: the agent checks again
// what must hold. Only texts cross the boundary: what Python makes of other values depends on the platform.
import { OUTPUT_FOLDER, SKILL_FOLDER } from "./path-contract.ts";
import { MAX_OUTPUT_FILE_BYTES, MAX_OUTPUT_FILES, MAX_PRINTED_BYTES, PYTHON_TIMED_OUT } from "./limits.ts";

export const PYTHON_SOURCE = String.raw`
import ast
import base64
import inspect
import io
import json
import os
import shutil
import sys
import time

from workers import WorkerEntrypoint


class TimedOut(BaseException):
    """Not an Exception: the script's own handlers are not meant to catch it."""


class Tools:
    def __init__(self, ask):
        self._ask = ask

    async def call(self, name, input=None):
        return await self._ask("tool", name, {} if input is None else input)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda input=None: self.call(name, input)


class Workspace:
    def __init__(self, ask):
        self._ask = ask

    async def read_file(self, path):
        return await self._ask("readFile", path)

    async def list_files(self, path="."):
        return await self._ask("listFiles", path)

    async def glob(self, pattern):
        return await self._ask("glob", pattern)

    async def stat(self, path):
        return await self._ask("stat", path)

    async def write_file(self, path, text):
        await self._ask("writeFile", path, text)


class Printed(io.TextIOBase):
    """Keeps the beginning of what is printed."""

    def __init__(self):
        self._kept = []
        self._room = ${MAX_PRINTED_BYTES + 1}

    def writable(self):
        return True

    def write(self, text):
        kept = text[: self._room]
        self._room -= len(kept)
        self._kept.append(kept)
        return len(text)

    def text(self):
        return "".join(self._kept)


class Deadline:
    """Ends a loop that does not yield. Where the clock stands still while code runs, the platform's own limit does."""

    def __init__(self, seconds):
        self._at = time.monotonic() + seconds
        self._events = 0

    def __enter__(self):
        monitoring = getattr(sys, "monitoring", None)
        if monitoring is None:
            return
        events = monitoring.events
        monitoring.use_tool_id(monitoring.DEBUGGER_ID, "deadline")
        for event in (events.JUMP, events.PY_START):
            monitoring.register_callback(monitoring.DEBUGGER_ID, event, self._check)
        monitoring.set_events(monitoring.DEBUGGER_ID, events.JUMP | events.PY_START)

    def __exit__(self, *_):
        monitoring = getattr(sys, "monitoring", None)
        if monitoring is not None:
            monitoring.set_events(monitoring.DEBUGGER_ID, 0)
            monitoring.free_tool_id(monitoring.DEBUGGER_ID)

    def _check(self, *_):
        self._events += 1
        if self._events % 1000 == 0 and time.monotonic() > self._at:
            raise TimedOut()


class Default(WorkerEntrypoint):
    async def run(self, payload, host):
        return json.dumps(await answer_to(json.loads(payload), host))


async def answer_to(given, host):
    async def ask(method, *args):
        answer = json.loads(await host(method, json.dumps(args)))
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer.get("value")

    out, err = Printed(), Printed()
    sys.stdout, sys.stderr, sys.stdin = out, err, io.StringIO(given["input"])
    answer = {}
    try:
        lay_out(given)
        names = {"tools": Tools(ask), "workspace": Workspace(ask)}
        with Deadline(given["seconds"]):
            answer = await run_script(given, names)
        answer["files"] = output_files()
    except TimedOut:
        answer = {"error": "${PYTHON_TIMED_OUT}"}
    except BaseException as thrown:
        answer = {"error": str(thrown) or type(thrown).__name__}
    return {**answer, "stdout": out.text(), "stderr": err.text()}


def lay_out(given):
    shutil.rmtree("${SKILL_FOLDER}", ignore_errors=True)
    shutil.rmtree("${OUTPUT_FOLDER}", ignore_errors=True)
    os.makedirs("${OUTPUT_FOLDER}")
    for one in given["files"]:
        os.makedirs(os.path.dirname(one["path"]), exist_ok=True)
        with open(one["path"], "wb") as file:
            file.write(base64.b64decode(one["base64"]) if "base64" in one else one["text"].encode())
    os.chdir("${SKILL_FOLDER}")
    sys.path.insert(0, os.path.dirname(given["path"]))
    sys.argv = [given["path"]]


async def run_script(given, names):
    """A script with a function run() is called; any other is the program itself."""
    source, path = given["source"], given["path"]
    parsed = ast.parse(source, path)
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    is_function = any(isinstance(one, functions) and one.name == "run" for one in parsed.body)
    names |= {"__name__": "skill_script" if is_function else "__main__", "__file__": path}
    code = compile(source, path, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    try:
        await settled(eval(code, names))
        if not is_function:
            return {"exitCode": 0}
        result = await settled(names["run"](json.loads(given["input"]), {"skill": given["skill"]}))
        return {"result": json.dumps(result, allow_nan=False)}
    except SystemExit as end:
        if is_function:
            raise RuntimeError(f"The script called sys.exit({'' if end.code is None else end.code}).")
        return {"exitCode": exit_code(end.code)}


async def settled(value):
    return await value if inspect.isawaitable(value) else value


def exit_code(code):
    if code is None:
        return 0
    if isinstance(code, int):
        return int(code)
    print(code, file=sys.stderr)
    return 1


def output_files():
    paths = sorted(os.path.join(folder, name) for folder, _, names in os.walk("${OUTPUT_FOLDER}") for name in names)
    files = []
    for path in paths[: ${MAX_OUTPUT_FILES + 1}]:
        with open(path, "rb") as file:
            # One byte over the limit is refused by the agent.
            content = file.read(${MAX_OUTPUT_FILE_BYTES + 1})
        files.append({"path": path[len("${OUTPUT_FOLDER}/") :], "base64": base64.b64encode(content).decode()})
    return files
`;
