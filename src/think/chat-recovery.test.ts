// What becomes of every value a class may set `chatRecovery` to, and what its hooks are given.
import { afterEach, describe, expect, test, vi } from "vitest";
import type { RecoveryIncident } from "../turn/recovery.ts";
import type { TurnView } from "../turn/turn.ts";
import { RecoveryHooks, recoveryPolicy, type ChatRecoveryConfig, type ChatRecoveryOptions } from "./chat-recovery.ts";
import type { Overrides } from "./overrides.ts";

const DEFAULTS = {
  enabled: true,
  maxAttempts: 10,
  noProgressTimeoutMs: 300_000,
  maxRecoveryWork: 10_000,
  maxInterruptedAttempts: 5,
  terminalMessage: expect.stringMatching(/interrupted.*try again/i)
};

afterEach(() => void vi.restoreAllMocks());

describe("the setting", () => {
  test("true, and nothing said, are the documented defaults", () => {
    expect(recoveryPolicy(true)).toEqual(DEFAULTS);
    expect(recoveryPolicy({})).toEqual(DEFAULTS);
  });

  test("false turns recovery off, and only that", () => {
    expect(recoveryPolicy(false)).toEqual({ ...DEFAULTS, enabled: false });
  });

  test.each([undefined, null, 0, "", "no"])("%j is not an answer, and means the defaults", (setting) => {
    expect(recoveryPolicy(loose(setting))).toEqual(DEFAULTS);
  });

  type Limit = "maxAttempts" | "noProgressTimeoutMs" | "maxRecoveryWork" | "maxInterruptedAttempts";
  const rows: [Limit, unknown, number][] = [
    ["maxAttempts", 3.9, 3],
    ["maxAttempts", 0, 1],
    ["maxAttempts", -5, 1],
    ["maxAttempts", Infinity, Infinity],
    ["maxAttempts", Number.NaN, 10],
    ["maxAttempts", "7", 10],
    ["maxAttempts", null, 10],
    ["noProgressTimeoutMs", 1_500.7, 1_500],
    ["noProgressTimeoutMs", 0, 0],
    ["noProgressTimeoutMs", -1, 0],
    ["noProgressTimeoutMs", Infinity, Infinity],
    ["noProgressTimeoutMs", Number.NaN, 300_000],
    ["maxRecoveryWork", 0, 0],
    ["maxRecoveryWork", 12.5, 12.5],
    ["maxRecoveryWork", Infinity, Infinity],
    ["maxRecoveryWork", -1, 10_000],
    ["maxRecoveryWork", Number.NaN, 10_000],
    ["maxRecoveryWork", "1", 10_000],
    ["maxInterruptedAttempts", 2.2, 2],
    ["maxInterruptedAttempts", 0, 1],
    ["maxInterruptedAttempts", Infinity, Infinity],
    ["maxInterruptedAttempts", undefined, 5]
  ];

  test.each(rows)("%s %j becomes %j, and nothing else changes", (field, value, normal) => {
    expect(recoveryPolicy(loose({ [field]: value }))).toEqual({ ...DEFAULTS, [field]: normal });
  });

  test("a text of one's own is shown; what is no text is not", () => {
    expect(recoveryPolicy({ terminalMessage: "Sorry!" }).terminalMessage).toBe("Sorry!");
    for (const value of [7, null, undefined, {}]) {
      expect(recoveryPolicy(loose({ terminalMessage: value }))).toEqual(DEFAULTS);
    }
  });
});

describe("the policy of one's own", () => {
  test("is given the incident, without its content, and false stops recovery", async () => {
    const shouldKeepRecovering = vi.fn(() => false);
    expect(await hooks({ shouldKeepRecovering }).keepsRecovering(INCIDENT)).toBe(false);
    const { incidentId, requestId, recoveryRootRequestId, attempt, maxAttempts, recoveryKind, work, ageMs } = INCIDENT;
    const identity = { incidentId, requestId, recoveryRootRequestId };
    const given = { ...identity, attempt, maxAttempts, recoveryKind, work, ageMs };
    expect(shouldKeepRecovering.mock.calls).toEqual([[given]]);
  });

  test("that throws, or says nothing, lets recovery go on", async () => {
    const log = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const throws = () => {
      throw new Error("x");
    };
    expect(await hooks({ shouldKeepRecovering: throws }).keepsRecovering(INCIDENT)).toBe(true);
    expect(await hooks({ shouldKeepRecovering: () => Promise.reject(new Error("x")) }).keepsRecovering(INCIDENT)).toBe(
      true
    );
    expect(log).toHaveBeenCalledTimes(2);
    expect(await hooks(loose({ shouldKeepRecovering: () => undefined })).keepsRecovering(INCIDENT)).toBe(true);
    expect(await hooks(true).keepsRecovering(INCIDENT)).toBe(true);
    expect(await hooks(loose(null)).keepsRecovering(INCIDENT)).toBe(true);
  });

  test("may be an object with state of its own", async () => {
    class Policy {
      left = 1;
      exhausted = 0;
      shouldKeepRecovering(): boolean {
        return this.left-- > 0;
      }
      onExhausted(): void {
        this.exhausted += 1;
      }
    }
    const policy = new Policy();
    const asked = hooks(policy);
    expect([await asked.keepsRecovering(INCIDENT), await asked.keepsRecovering(INCIDENT)]).toEqual([true, false]);
    await asked.exhausted({ ...INCIDENT, reason: "recovery_aborted" });
    expect(policy.exhausted).toBe(1);
  });
});

describe("giving up", () => {
  test("is given what was left, the reason and the text users see, and no recovery data", async () => {
    const onExhausted = vi.fn();
    await hooks({ onExhausted, terminalMessage: "Sorry!" }).exhausted({ ...INCIDENT, reason: "out_of_memory" });
    const { work: _work, ageMs: _age, recoveryData: _data, ...given } = INCIDENT;
    expect(onExhausted.mock.calls).toEqual([[{ ...given, reason: "out_of_memory", terminalMessage: "Sorry!" }]]);
  });

  test("is not stopped by a hook that throws", async () => {
    const log = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const onExhausted = () => Promise.reject(new Error("x"));
    await hooks({ onExhausted }).exhausted({ ...INCIDENT, reason: "recovery_error" });
    expect(log).toHaveBeenCalledTimes(1);
  });
});

describe("onChatRecovery", () => {
  const rows: [unknown, { persist: boolean; continue: boolean }][] = [
    [undefined, { persist: true, continue: true }],
    [{}, { persist: true, continue: true }],
    [null, { persist: true, continue: true }],
    [{ persist: false }, { persist: false, continue: true }],
    [{ continue: false }, { persist: true, continue: false }],
    [
      { persist: undefined, continue: 0 },
      { persist: true, continue: true }
    ]
  ];

  test.each(rows)("that answers %j chooses %j", async (answer, choice) => {
    expect(await hooks(true, answer).recover(TURN, INCIDENT)).toEqual(choice);
  });

  test("is given the partial answer, its own data, the conversation, and what the client sent", async () => {
    const onChatRecovery = vi.fn();
    const tools = [{ name: "locate", description: null, parameters: null }];
    await hooksOf({ chatRecovery: true, onChatRecovery }).recover(
      { ...TURN, body: { a: 1 }, clientTools: tools },
      INCIDENT
    );
    const { work: _work, ageMs: _age, ...given } = INCIDENT;
    const client = { lastBody: { a: 1 }, lastClientTools: tools };
    expect(onChatRecovery.mock.calls).toEqual([[{ ...given, messages: [], ...client }]]);
  });

  test("that fails, fails: what comes of that is not its hooks' business", async () => {
    const onChatRecovery = () => Promise.reject(new Error("x"));
    await expect(hooksOf({ chatRecovery: true, onChatRecovery }).recover(TURN, INCIDENT)).rejects.toThrow("x");
  });
});

const INCIDENT: RecoveryIncident = {
  incidentId: "r1:u1",
  requestId: "r1",
  recoveryRootRequestId: "r1",
  attempt: 2,
  maxAttempts: 10,
  recoveryKind: "continue",
  streamId: "t1",
  createdAt: 5,
  partialText: "half",
  partialParts: [{ type: "text", text: "half" }],
  recoveryData: { mine: true },
  work: 3,
  ageMs: 40
};

// Only what the hooks read of a turn.
const TURN = { clientTools: [] } as Partial<TurnView> as TurnView;

/** A value as a class without types might set it. */
function loose(value: unknown): ChatRecoveryConfig {
  return value as ChatRecoveryConfig;
}

function hooks(chatRecovery: boolean | ChatRecoveryConfig, answer?: unknown): RecoveryHooks {
  return hooksOf({ chatRecovery, onChatRecovery: () => answer as ChatRecoveryOptions });
}

function hooksOf(overrides: Pick<Overrides, "chatRecovery" | "onChatRecovery">): RecoveryHooks {
  // Nothing else of the class is asked here.
  return new RecoveryHooks({ overrides: overrides as Overrides, messages: () => [], repairPart: (part) => part });
}
