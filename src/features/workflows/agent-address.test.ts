import { expect, test } from "vitest";
import type { InternalEnvelope } from "../../agent/tree/internal.ts";
import { bindingOf, openAddress } from "./agent-address.ts";
import type { WorkflowOrigin } from "./origin.ts";

interface Asked {
  namespace: string;
  id: string;
  envelope: InternalEnvelope;
}

const asked: Asked[] = [];

function namespace(label: string) {
  return {
    idFromName: (name: string) => `id of ${name}`,
    idFromString: (text: string) => `raw ${text}`,
    get: (id: string) => ({
      internalCall: async (envelope: InternalEnvelope) => void asked.push({ namespace: label, id, envelope })
    })
  };
}

const origin = (change: Partial<WorkflowOrigin> = {}): WorkflowOrigin => ({
  agentName: "bob",
  agentClass: "Team",
  agentBinding: null,
  agentId: "id of blue",
  path: [
    { className: "Team", name: "blue" },
    { className: "Member", name: "bob" }
  ],
  workflowName: "IMPORTER",
  ...change
});

async function ask(change: Partial<WorkflowOrigin>, directory: { exports?: unknown; env?: unknown }): Promise<Asked> {
  asked.length = 0;
  await openAddress(origin(change), { exports: undefined, env: {}, ...directory }).ask({ op: "wake" });
  return asked[0]!;
}

const everywhere = {
  exports: { Team: namespace("export") },
  env: { Team: namespace("Team"), TEAMS: namespace("TEAMS") }
};

test.each<[string, string | null, string]>([
  ["nothing known: the export", null, "export"],
  ["a binding guessed by name: the export, which cannot be another class", "Team", "export"],
  ["a binding of another name, given on purpose", "TEAMS", "TEAMS"],
  ["a binding that this Worker lacks: the export", "ELSEWHERE", "export"]
])("%s", async (_name, agentBinding, label) => {
  expect((await ask({ agentBinding }, everywhere)).namespace).toBe(label);
});

test("a Worker without the class uses the binding, and without either says what it has", async () => {
  expect((await ask({ agentBinding: "Team" }, { env: everywhere.env })).namespace).toBe("Team");
  await expect(ask({}, { env: { Other: namespace("Other"), TEXT: "x" } })).rejects.toThrow(
    'no binding or export for the agent class "Team"'
  );
});

test("the call goes to the root by name and down the recorded path; in a jurisdiction by its id", async () => {
  const below = [{ className: "Member", name: "bob" }];
  expect(await ask({}, everywhere)).toEqual({
    namespace: "export",
    id: "id of blue",
    envelope: { to: below, call: { op: "wake" } }
  });
  expect((await ask({ agentId: "eu" }, everywhere)).id).toBe("raw eu");
});

test.each<[string, string[], string | undefined]>([
  ["Team", ["TEAM", "Team"], "Team"],
  ["ChatRoom", ["CHAT_ROOM"], "CHAT_ROOM"],
  ["AIAssistant", ["AI_ASSISTANT"], undefined]
])("%s among the bindings %j is %s", (className, names, found) => {
  expect(bindingOf(className, { TEXT: "x", ...Object.fromEntries(names.map((name) => [name, namespace(name)])) })).toBe(
    found
  );
});
