// Editors show the doc comment of an override point or setting, with an example that compiles.
import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseAst } from "rolldown/parseAst";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));
const read = (path: string) => readFileSync(root + path, "utf8");
const samples = squeeze(read("test/types/hover-samples.ts").replaceAll("override ", ""));

function squeeze(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}

/** The classes whose members a user's class has. */
const FILES = [
  "src/agent/agent-base.ts",
  "src/think/think-core.ts",
  ...globSync("src/features/*/{capability,members,prompts}.ts", { cwd: root }).sort()
];
const USER_FACING = /^(AgentBase|ThinkCore|\w+Members)$/;

/** Members that need no example, by the reason. Every other one does: a new member is documented, or named here. */
const EXCLUDED: Readonly<Record<string, string>> = {
  "user code calls it, about this agent and its clients": `sql setState getConnections getConnection broadcast
    setConnectionReadonly isConnectionReadonly isConnectionProtocolEnabled getCallableMethods retry keepAlive
    keepAliveWhile subAgent abortSubAgent deleteSubAgent hasSubAgent listSubAgents parentAgent destroy
    getTakeoverReport`,
  "user code calls it, about the conversation": `getMessages addMessages listBranches selectBranch clearMessages chat
    saveMessages continueLastTurn runTurn stash cancelChat cancelAllChats abortRequest abortAllRequests resetTurnState
    hasPendingInteraction waitUntilStable explainPrompt readJournal configure getConfig getOnStartDegradations
    appendMessageToHistory updateMessageInHistory syncMessagesFromStorage`,
  "user code calls it, about work for later": `schedule scheduleEvery cancelSchedule getSchedule getSchedules
    getScheduleById listSchedules queue dequeue dequeueAll dequeueAllByCallback getQueue getQueues getDeadLetters
    requeueDeadLetter runFiber startFiber inspectFiber inspectFiberByKey cancelFiber cancelFiberByKey resolveFiber
    listFibers deleteFibers runWorkflow sendWorkflowEvent getWorkflow getWorkflows getWorkflowStatus approveWorkflow
    rejectWorkflow terminateWorkflow pauseWorkflow resumeWorkflow restartWorkflow deleteWorkflow deleteWorkflows
    submitMessages inspectSubmission listSubmissions waitForSubmission cancelSubmission deleteSubmission
    deleteSubmissions reconcileScheduledTasks listScheduledTasks runScheduledTask`,
  "user code calls it, about other features": `addMcpServer removeMcpServer getMcpServers sendEmail replyToEmail
    runAgentTool hasAgentToolRun listAgentToolRuns clearAgentToolRuns inspectAgentToolRun cancelAgentToolRun
    cancelAgentTool replyAttachments listActionLedger resolveActionLedger pendingApprovals approveExecution
    rejectExecution budgeted spend getCosts getMessengerContext deliverNotice fetchMessengerAttachment
    chatWithMessengerContext toAISDKAgent pendingExecutions steer followUp editQueued withdrawQueued listQueued
    inspectReceipt stopAfterStep`,
  "the package sets it, and user code reads it": "codemode extensionManager",
  "a parent, a messenger or a workflow of this package calls it": `startAgentToolRun steerAgentToolRun
    getAgentToolChunks tailAgentToolRun readAgentToolRun inheritBudgets askBudgets replyFiles waitingApprovals
    decideCall approvalOutcome approvalOutcomes answerMessenger steerMessenger messengerCall
    internal_reconcileScheduledTasks internal_runScheduledTask internal_askApproval internal_withdrawApproval
    internalCall`,
  "the platform calls it": "fetch alarm webSocketMessage webSocketClose webSocketError",
  "the runtime asks it of the package's own classes": "getFeatures"
};
const excluded = Object.values(EXCLUDED).flatMap((names) => names.split(/\s+/));

interface Member {
  type: string;
  kind?: string;
  start: number;
  static?: boolean;
  computed?: boolean;
  key?: { type: string; name?: string };
}

interface Documented {
  name: string;
  comment: string;
}

interface ClassNode {
  id?: { name: string };
  body?: { body: Member[] };
}

/** Everything that is neither read only nor private, with the comment above each. Of overloads the first one's counts. */
function membersOf(path: string): Documented[] {
  const source = read(path);
  const program = parseAst(source, { lang: "ts" }) as unknown as { body: { declaration?: ClassNode }[] };
  const found = new Map<string, Documented>();
  for (const { declaration } of program.body) {
    if (!USER_FACING.test(declaration?.id?.name ?? "")) continue;
    // What a `*Members` class has as static is for the package.
    const hasStatics = !declaration!.id!.name.endsWith("Members");
    for (const member of declaration!.body!.body) {
      const name = member.key?.type === "Identifier" ? member.key.name! : "";
      const isAccessor = member.kind === "get" || member.kind === "set" || member.kind === "constructor";
      if (name === "" || isAccessor || member.computed || (member.static && !hasStatics) || found.has(name)) continue;
      const before = source.slice(0, member.start).trimEnd();
      found.set(name, { name, comment: before.endsWith("*/") ? before.slice(before.lastIndexOf("/**")) : "" });
    }
  }
  return [...found.values()];
}

const members = FILES.flatMap(membersOf);
const documented = members.filter(({ name }) => !excluded.includes(name));

test("there are settings and override points of every kind to look at", () => {
  const names = documented.map(({ name }) => name);
  expect(names).toEqual(
    expect.arrayContaining(["maxSteps", "getModel", "classifyChatError", "options", "initialState", "onConnect"])
  );
  expect(names).toEqual(expect.arrayContaining(["webFetch", "getActions", "onSteer", "onFiberRecovered", "callables"]));
  expect(names.length).toBeGreaterThan(100);
});

test("every member without an example is one that exists, named once", () => {
  const names = new Set(members.map(({ name }) => name));
  expect(excluded.filter((name) => !names.has(name))).toEqual([]);
  expect(excluded.filter((name, index) => excluded.indexOf(name) !== index)).toEqual([]);
});

test.each(documented)("$name says what it is for, with an example that compiles", ({ name, comment }) => {
  const [text = "", example = ""] = comment.replaceAll(/^\s*\/?\*+\/?/gm, "").split("@example");
  expect(squeeze(text).length).toBeGreaterThan(20);
  expect(squeeze(example)).toMatch(new RegExp(`^(static |async )?${name}\\b`));
  expect(samples).toContain(squeeze(example.replace(/\*\/$/, "")));
});
