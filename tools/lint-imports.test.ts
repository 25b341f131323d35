import { describe, expect, test } from "vitest";
import { checkImport, LAYERS } from "./lint-imports.ts";

interface Case {
  from: string;
  specifier: string;
  typeOnly?: boolean;
  rule?: string;
}

function ruleFor({ from, specifier, typeOnly = false }: Case): string | undefined {
  return checkImport(from, { specifier, typeOnly })?.rule;
}

const allowed: Case[] = [
  { from: "src/host/workerd/sql.ts", specifier: "../../util/bytes.ts" },
  { from: "src/host/workerd/sql.ts", specifier: "../ports.ts" },
  { from: "src/host/enter.ts", specifier: "../observe/emit.ts" },
  { from: "src/turn/runner.ts", specifier: "../session/tree.ts" },
  { from: "src/turn/runner.ts", specifier: "../model/adapter.ts" },
  { from: "src/agent/agent.ts", specifier: "../host/ports.ts" },
  { from: "src/think/think.ts", specifier: "../agent/agent.ts" },
  { from: "src/think/capabilities.ts", specifier: "../features/submissions/index.ts" },
  { from: "src/agent-class/capabilities.ts", specifier: "../features/queue/index.ts" },
  { from: "src/features/actions/ledger.ts", specifier: "../approvals/approver.ts" },
  { from: "src/features/queue/capability.ts", specifier: "./members.ts" },
  { from: "src/features/queue/queue.ts", specifier: "./members.ts", typeOnly: true },
  { from: "src/features/extensions/hook-dispatch.ts", specifier: "../actions/capability.ts", typeOnly: true },
  { from: "src/features/workflows/think-workflow.ts", specifier: "../../think/think.ts", typeOnly: true },
  { from: "src/features/actions/ledger.ts", specifier: "../../feature/feature.ts" },
  { from: "src/framework/manifest.ts", specifier: "../features/submissions/client.ts" },
  { from: "src/testing/host.ts", specifier: "../agent/agent.ts" },
  { from: "src/index.ts", specifier: "./think/think.ts" },
  { from: "src/index.ts", specifier: "./features/actions/index.ts" },
  { from: "src/journal/writer.test.ts", specifier: "../testing/host.ts" },
  { from: "src/client/store.ts", specifier: "../util/json.ts" },
  { from: "src/client/store.ts", specifier: "../journal/records.ts", typeOnly: true },
  { from: "src/client/streams.ts", specifier: "../model/message-fold.ts" },
  { from: "src/host/workerd/platform.ts", specifier: "cloudflare:workers" },
  { from: "src/testing/inprocess/platform.ts", specifier: "cloudflare:workers", typeOnly: true },
  { from: "src/testing/inprocess/ids.ts", specifier: "../../host/ports.ts" },
  { from: "src/testing/database.ts", specifier: "node:sqlite" },
  { from: "src/journal/fixtures.test.ts", specifier: "node:fs" },
  { from: "src/journal/database.test-support.ts", specifier: "node:sqlite" },
  { from: "src/journal/writer.test.ts", specifier: "./database.test-support.ts" },
  { from: "src/framework/cli/run.ts", specifier: "node:child_process" },
  { from: "src/agent/context.ts", specifier: "node:async_hooks" },
  { from: "src/model/adapter.ts", specifier: "@ai-sdk/provider" },
  { from: "src/testing/model/scripted.ts", specifier: "ai6" },
  { from: "src/turn/runner.ts", specifier: "ai" },
  { from: "src/agent/cron.ts", specifier: "croner" }
];

const refused: Case[] = [
  { from: "src/wire/frames.ts", specifier: "../agent/agent.ts", rule: "direction" },
  { from: "src/feature/feature.ts", specifier: "../features/actions/feature.ts", typeOnly: true, rule: "direction" },
  { from: "src/feature/feature.ts", specifier: "../agent/agent.ts", typeOnly: true, rule: "direction" },
  { from: "src/agent/agent.ts", specifier: "../features/mcp/capability.ts", rule: "direction" },
  { from: "src/agent/context.ts", specifier: "../agent-class/agent.ts", typeOnly: true, rule: "direction" },
  { from: "src/features/queue/queue.ts", specifier: "../../agent-class/agent.ts", typeOnly: true, rule: "direction" },
  { from: "src/think/think-core.ts", specifier: "../features/actions/capability.ts", rule: "direction" },
  { from: "src/features/actions/ledger.ts", specifier: "../submissions/client.ts", rule: "direction" },
  { from: "src/features/queue/queue.ts", specifier: "./members.ts", rule: "direction" },
  { from: "src/core/queue.ts", specifier: "../features/queue/members.ts", rule: "direction" },
  { from: "src/features/actions/ledger.ts", specifier: "../channels/channels.ts", rule: "direction" },
  { from: "src/features/actions/ledger.ts", specifier: "../../think/think.ts", typeOnly: true, rule: "direction" },
  { from: "src/features/workflows/think-workflow.ts", specifier: "../../think/think.ts", rule: "direction" },
  { from: "src/wire/frames.ts", specifier: "../framework/manifest.ts", rule: "direction" },
  { from: "src/agent/agent.ts", specifier: "../cli/run.ts", rule: "direction" },
  { from: "src/features/actions/ledger.ts", specifier: "../../framework/manifest.ts", rule: "direction" },
  { from: "src/turn/runner.ts", specifier: "../feature/feature.ts", typeOnly: true, rule: "direction" },
  { from: "src/util/bytes.ts", specifier: "../observe/emit.ts", rule: "direction" },
  { from: "src/observe/emit.ts", specifier: "../host/ports.ts", rule: "direction" },
  { from: "src/host/ports.ts", specifier: "../journal/records.ts", typeOnly: true, rule: "direction" },
  { from: "src/model/adapter.ts", specifier: "../session/tree.ts", rule: "direction" },
  { from: "src/turn/runner.ts", specifier: "../think/think.ts", rule: "direction" },
  { from: "src/agent/agent.ts", specifier: "../testing/host.ts", rule: "direction" },
  { from: "src/index.ts", specifier: "./testing/index.ts", rule: "direction" },
  { from: "src/framework/manifest.ts", specifier: "../testing/host.ts", rule: "direction" },
  { from: "src/agent/agent.ts", specifier: "../index.ts", rule: "direction" },
  { from: "src/client/store.ts", specifier: "../journal/records.ts", rule: "direction" },
  { from: "src/client/store.ts", specifier: "../journal/codec.ts", typeOnly: true, rule: "direction" },
  { from: "src/client/store.ts", specifier: "../host/ids.ts", rule: "direction" },
  { from: "src/client/store.ts", specifier: "../model/call.ts", rule: "direction" },
  { from: "src/testing/host.ts", specifier: "../client/store.ts", rule: "direction" },
  { from: "src/attic/old.ts", specifier: "../util/json.ts", rule: "unknown-folder" },
  { from: "src/agent/agent.ts", specifier: "../attic/old.ts", rule: "unknown-folder" },
  { from: "src/index.ts", specifier: "./attic/old.ts", rule: "unknown-folder" },
  { from: "src/util/bytes.ts", specifier: "../../test/process/workerd-process.ts", rule: "inside-src" },
  { from: "src/agent/agent.ts", specifier: "cloudflare:workers", rule: "platform" },
  { from: "src/agent/agent.ts", specifier: "cloudflare:workers", typeOnly: true, rule: "platform" },
  { from: "src/testing/host.ts", specifier: "cloudflare:sockets", rule: "platform" },
  { from: "src/host/workerd/sql.ts", specifier: "node:sqlite", rule: "node-only" },
  { from: "src/journal/writer.ts", specifier: "node:fs/promises", rule: "node-only" },
  { from: "src/journal/writer.ts", specifier: "./database.test-support.ts", rule: "direction" },
  { from: "src/turn/runner.ts", specifier: "ai6", rule: "sdk-major" },
  { from: "src/turn/runner.ts", specifier: "@ai-sdk/provider", typeOnly: true, rule: "sdk-major" },
  { from: "src/testing/host.ts", specifier: "ai6/test", rule: "sdk-major" },
  { from: "src/agent/agent.ts", specifier: "agents", rule: "independent" },
  { from: "src/host/ports.ts", specifier: "agents/react", rule: "independent" },
  { from: "src/client/store.ts", specifier: "@cloudflare/ai-chat/react", rule: "independent" },
  { from: "src/agent/agent.test.ts", specifier: "@cloudflare/think", rule: "independent" }
];

describe("the import direction", () => {
  test.each(allowed)("$from may import $specifier", (row) => {
    expect(ruleFor(row)).toBeUndefined();
  });

  test.each(refused)("$from may not import $specifier ($rule)", (row) => {
    expect(ruleFor(row)).toBe(row.rule);
  });

  test("every folder sees exactly the layers below it", () => {
    for (const [layer, folders] of LAYERS.entries()) {
      for (const folder of folders.filter((name) => name !== "client")) {
        for (const [targetLayer, targets] of LAYERS.entries()) {
          for (const target of targets) {
            const rule = ruleFor({ from: `src/${folder}/one.ts`, specifier: `../${target}/two.ts` });
            // The test kit is for tests.
            const sees = folder === target || (targetLayer < layer && target !== "testing");
            expect([folder, target, rule === undefined]).toEqual([folder, target, sees]);
          }
        }
      }
    }
  });
});
