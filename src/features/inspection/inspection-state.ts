// What an agent holds beside its turns, read for inspectors: memory, files, schedules, submissions, queue, fibers, MCP
// servers, settings, disk. Tables that do not exist read as empty; nothing is made, loaded into the prompt or started.
import { STATE_TABLES } from "../../agent/state.ts";
import { fibersOf } from "../fibers/capability.ts";
import { queue } from "../queue/capability.ts";
import { schedules } from "../schedules/capability.ts";
import { TableSet } from "../../host/table-set.ts";
import { masked, shownText } from "./shown-text.ts";
import { NOT_OF_THE_PLATFORM, quoted } from "./table-rows.ts";
import type {
  FileView,
  MemoryBlock,
  ShownFile,
  ShownJob,
  ShownSchedule,
  ShownServer,
  ShownTable,
  StateView
} from "./views.ts";
import { errorMessage } from "../../util/errors.ts";
import { parseJson } from "../../util/json.ts";
import { Workspace } from "../workspace/workspace.ts";
import { runtimeOf } from "../../agent/runtime.ts";
import { submissions } from "../submissions/capability.ts";
import { scheduledTasks } from "../tasks/capability.ts";
import type { WorkspaceMembers } from "../workspace/capability.ts";
import { mcp } from "../mcp/capability.ts";
import type { ChatServices } from "../../feature/services.ts";

const LISTED = 200;
/** Larger files are not opened for a view. */
const MAX_FILE_BYTES = 2 * 1024 * 1024;
/** A table's rows are counted up to here. */
const COUNTED_ROWS = 10_000;

export async function inspectState(services: ChatServices): Promise<StateView> {
  const agent = runtimeOf(services.agent);
  return {
    memory: services.session
      .getContextBlocks()
      .map(({ label, description, content, tokens, maxTokens, writable }): MemoryBlock => ({
        label,
        description: description ?? null,
        content: shownText(content),
        tokens,
        maxTokens: maxTokens ?? null,
        isWritable: writable
      })),
    files: await readFiles(services),
    schedules: await readSchedules(services),
    submissions: submissions
      .of(services.agent)
      .kept.list({ limit: LISTED })
      .map((one) => ({
        submissionId: one.submissionId,
        status: one.status,
        createdAt: one.createdAt,
        completedAt: one.completedAt ?? null
      })),
    queue: readQueue(services),
    fibers: fibersOf(agent.agent)
      .list({ limit: LISTED })
      .map(({ fiberId, name, status, createdAt, settledAt, error }) => ({
        fiberId,
        name,
        status,
        createdAt,
        settledAt: settledAt ?? null,
        error: error ?? null
      })),
    mcpServers: readServers(services),
    config: maskedText(services.config()),
    agentState: readAgentState(services),
    disk: { bytes: agent.ctx.storage.sql.databaseSize, tables: readTables(services) },
    degradations: [...agent.degradations]
  };
}

function maskedText(value: unknown): StateView["config"] {
  return value === null || value === undefined ? null : shownText(masked(value));
}

/** Read from its row: asking the agent for a state that was never set would store the initial one. */
function readAgentState({ sql }: ChatServices): StateView["agentState"] {
  const row = new TableSet(sql, STATE_TABLES).one<{ json: string }>("SELECT json FROM cf_state WHERE id = 1");
  const parsed = row && parseJson(row.json);
  return parsed?.ok ? maskedText(parsed.value) : null;
}

async function readFiles({ agent }: ChatServices): Promise<StateView["files"]> {
  try {
    const found = (await (agent as WorkspaceMembers).workspace.glob("/**")).filter(({ type }) => type === "file");
    const shown = found
      .slice(0, LISTED)
      .map(({ path, mimeType, size, updatedAt }): ShownFile => ({ path, mimeType, sizeBytes: size, updatedAt }));
    return { files: shown, isCut: found.length > LISTED };
  } catch (error) {
    // A workspace of the class's own may be elsewhere, and away. The other views do not depend on it.
    console.warn(`An inspector could not list the files: ${errorMessage(error)}`);
    return { files: [], isCut: true };
  }
}

export async function inspectFile({ agent }: ChatServices, path: string): Promise<FileView | undefined> {
  const { workspace } = agent as WorkspaceMembers;
  const stat = path === "" ? null : await workspace.stat(path);
  if (!stat || stat.type !== "file") return undefined;
  const bytes = stat.size <= MAX_FILE_BYTES ? await workspace.readFileBytes(path) : null;
  const text = bytes === null ? undefined : textOf(bytes);
  const versions = workspace instanceof Workspace ? await workspace.history(path) : [];
  return {
    path,
    content: text === undefined ? null : shownText(text),
    isBinary: bytes !== null && text === undefined,
    history: versions.slice(0, LISTED).map(({ version, size, modifiedAt, change, replacedAt, ...by }) => ({
      version,
      sizeBytes: size,
      modifiedAt,
      change,
      replacedAt,
      turnId: by.turnId ?? null,
      replacedByTurnId: by.replacedByTurnId ?? null
    }))
  };
}

/** Undefined: it is not text. */
function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    // That is how a decoder says so.
    return undefined;
  }
}

async function readSchedules({ agent }: ChatServices): Promise<ShownSchedule[]> {
  const tasks = await scheduledTasks.of(agent).tasks.list();
  const shownTasks = tasks.map((task): ShownSchedule => ({
    id: task.taskId,
    kind: "task",
    what: task.taskId,
    when: task.timezone === undefined ? task.schedule : `${task.schedule} (${task.timezone})`,
    nextRunAt: task.nextRunAt ?? null,
    lastRunAt: task.lastRunAt ?? null,
    lastOutcome: task.lastError ?? task.lastOutcome ?? null
  }));
  const shown = schedules
    .of(agent)
    .list()
    .map((schedule): ShownSchedule => ({
      id: schedule.id,
      kind: "schedule",
      what: schedule.callback,
      when: timingOf(schedule),
      nextRunAt: schedule.time * 1000,
      lastRunAt: null,
      lastOutcome: null
    }));
  return [...shownTasks, ...shown].slice(0, LISTED);
}

function timingOf(schedule: { type: string; cron?: string; intervalSeconds?: number }): string {
  if (schedule.cron !== undefined) return schedule.cron;
  return schedule.intervalSeconds === undefined ? "once" : `every ${schedule.intervalSeconds} s`;
}

function readQueue({ agent }: ChatServices): StateView["queue"] {
  const waiting: ShownJob[] = [];
  for (const { key, lane, createdAt } of queue.of(agent).pending()) {
    if (waiting.length >= LISTED) break;
    waiting.push({ id: key, callback: lane ?? "", createdAt, error: null });
  }
  const dead = queue
    .of(agent)
    .deadLetters()
    .map(({ id, callback, created_at, error }) => ({
      id,
      callback,
      createdAt: created_at * 1000,
      error
    }));
  return { waiting, dead: dead.slice(0, LISTED) };
}

function readServers(services: ChatServices): ShownServer[] {
  const { servers: byId, tools } = mcp.of(services.agent).manager().state();
  return Object.entries(byId).map(([id, { name, state, server_url }]) => ({
    id,
    name,
    state,
    address: String(masked(server_url)),
    tools: tools.filter(({ serverId }) => serverId === id).length
  }));
}

function readTables({ sql }: ChatServices): ShownTable[] {
  const names = sql.all<{ name: string }>(
    `SELECT name FROM sqlite_master WHERE type = 'table' ${NOT_OF_THE_PLATFORM} ORDER BY name LIMIT ?`,
    LISTED
  );
  return names.map(({ name }) => {
    const counted = sql.one<{ rows: number }>(
      `SELECT count(*) AS rows FROM (SELECT 1 FROM ${quoted(name)} LIMIT ${COUNTED_ROWS + 1})`
    );
    return { name, rows: Number(counted?.rows ?? 0) };
  });
}
