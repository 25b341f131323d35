// The browser as a feature: its tools in every turn, the words of the prompt, and the end of its sessions. It joins with the
// value of `browser`.
import type { UIMessageChunk } from "ai";
import type { ActionApprovalDescriptor } from "../../feature/approval-contract.ts";
import type { CallOwner, Feature, TurnPart } from "../../feature/feature.ts";
import type { ChatServices } from "../../feature/services.ts";
import type { CallOutcome } from "../../journal/records.ts";
import { callsWithOldMedia } from "../../model/tool-media.ts";
import type { CutOffCall } from "../../turn/hooks.ts";
import type { TurnView } from "../../turn/turn.ts";
import { isObject } from "../../util/json.ts";
import { filesOfTurn, type PageFiles } from "../web/page-files.ts";
import { WEB_PROMPT } from "../web/untrusted.ts";
import { BrowserActions } from "./actions.ts";
import type { BrowserMembers } from "./capability.ts";
import { browserErrors } from "./errors.ts";
import type { Browser } from "./options.ts";
import { BrowserSessions } from "./sessions.ts";
import { BROWSER_PROMPT, BROWSER_TOOLS, browserTools, SEND } from "./tools.ts";

/** Of the conversation. */
const CHAT = "chat";

const LOST =
  "The agent restarted during this call, and its browser was closed. What was open in it is gone; open the address again if it is still needed.";
const LOST_SEND =
  "The agent restarted during this call, and its browser was closed. The request may have been sent: look whether it was before you do anything again.";

export function openBrowserFeature(services: ChatServices): BrowserFeature {
  return new BrowserFeature(services);
}

export class BrowserFeature implements Feature {
  readonly name = "browser";
  readonly toolNames = BROWSER_TOOLS;
  readonly sessions: BrowserSessions;
  readonly actions: BrowserActions;
  /** A browser does not outlive the process. */
  readonly calls: CallOwner = {
    keepsOutcome: (_turn, { toolName }) => isOwnName(toolName),
    lateOutcome: async (_turn, call) => lostOutcome(call)
  };
  readonly #services: ChatServices;
  readonly #files: PageFiles;
  /** Calls that wait for a person, by what they would send. */
  readonly #requests = new Map<string, string>();

  constructor(services: ChatServices) {
    const { env, ids } = services;
    this.#services = services;
    this.#files = filesOfTurn(services);
    this.sessions = new BrowserSessions({ env, browser: () => this.#browser, newId: () => ids.next() });
    this.actions = new BrowserActions(this.sessions, this.#files);
  }

  get #browser(): Browser {
    const { browser } = this.#services.agent as BrowserMembers;
    if (browser) return browser;
    throw browserErrors.BrowserActionError("This agent has no browser any more.");
  }

  inTurn(turn: TurnView): TurnPart | undefined {
    const { browser } = this.#services.agent as BrowserMembers;
    if (browser?.options.tools !== true) return undefined;
    const oldCalls = callsWithOldMedia(this.#services.turns.transcript());
    const showsMedia = (toolCallId: string) => !oldCalls.has(toolCallId);
    const tools = browserTools({ actions: this.actions, files: this.#files, showsMedia }, CHAT);
    const isMarked = this.#services.features.named("web") !== undefined;
    const text = isMarked ? BROWSER_PROMPT : `${BROWSER_PROMPT}\n${WEB_PROMPT}`;
    return {
      tools: { workspace: tools },
      prompt: [{ label: "browser", text }],
      annotate: (chunk) => this.#annotated(chunk, turn)
    };
  }

  /** What waits for a person is kept until its time is over: the turn that goes on sends it. */
  settled(): void {
    this.#requests.clear();
    if (!this.sessions.isAsking(CHAT)) this.sessions.close(CHAT, "the turn was over");
  }

  cleared(): void {
    this.sessions.close(CHAT, "the conversation was emptied");
  }

  stop(): void {
    this.sessions.closeAll("the agent was stopped");
  }

  /** The question of a call of `browser_send` says what would be sent, as the page has made it. */
  #annotated(chunk: UIMessageChunk, { requestId }: TurnView): UIMessageChunk {
    if (chunk.type === "tool-input-available" && chunk.toolName === SEND && isObject(chunk.input))
      this.#requests.set(chunk.toolCallId, String(chunk.input["request"]));
    const request = chunk.type === "tool-approval-request" ? this.#requests.get(chunk.toolCallId) : undefined;
    if (request === undefined || chunk.type !== "tool-approval-request") return chunk;
    const held = this.sessions.held(CHAT, request);
    const approvalDescriptor: ActionApprovalDescriptor = {
      requestId,
      toolCallId: chunk.toolCallId,
      action: SEND,
      summary: held
        ? `Send ${held.method} to ${new URL(held.url).host} from the browser?`
        : "Nothing waits to be sent under this name.",
      input: held ? { ...held } : { request },
      permissions: [],
      kind: "approval-gated"
    };
    return { ...chunk, ...{ approvalDescriptor } };
  }
}

function isOwnName(toolName: string): boolean {
  return (BROWSER_TOOLS as readonly string[]).includes(toolName);
}

function lostOutcome({ toolName }: CutOffCall): CallOutcome | undefined {
  return isOwnName(toolName) ? { kind: "output", output: { error: toolName === SEND ? LOST_SEND : LOST } } : undefined;
}
