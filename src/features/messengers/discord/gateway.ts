// Discord's Gateway: the socket by which ordinary messages come. The agent opens it, answers its heartbeat, and opens it again
// when it ends. What was received is stored together with its number in the stream, so a socket that is resumed is sent
// what is missing, and what comes twice is known. A wake every minute opens a socket that died with its process.
import { backoffMs } from "../../../util/backoff.ts";
import { happensWithin } from "../../../host/deadline.ts";
import { isObject } from "../../../util/json.ts";
import type { ConnectionIntake, MessengerConnection } from "../definition.ts";
import { parseFields, readFields, readString } from "../fields.ts";
import type { DiscordAdapter, DiscordToken } from "./adapter.ts";

const GATEWAY_URL = "wss://gateway.discord.gg";
/** The bot's token is sent to these hosts, and to the configured one, only. */
const GATEWAY_HOSTS = /^(.+\.)?discord\.gg$/;
const QUERY = "/?v=10&encoding=json";
/** The intents GUILDS, GUILD_MESSAGES, DIRECT_MESSAGES and MESSAGE_CONTENT. */
const INTENTS = (1 << 0) | (1 << 9) | (1 << 12) | (1 << 15);
const CHECK_MS = 60_000;
const RETRY = { baseMs: 1_000, maxMs: 60_000 };
/** The pause that Discord wants between two new sessions. */
const IDENTIFY_PAUSE_MS = 5_000;
/** How long a socket may send nothing at all before it is given up. */
const HELLO_MS = 20_000;
const SESSION = "gateway:session";

const DISPATCH = 0;
const HEARTBEAT = 1;
const IDENTIFY = 2;
const RESUME = 6;
const RECONNECT = 7;
const INVALID_SESSION = 9;
const HELLO = 10;
const HEARTBEAT_ACK = 11;

/** Codes of a wrong token, an intent that was not granted, and the like: opening the socket again cannot help. */
const FINAL_CODES = new Set([4004, 4010, 4011, 4012, 4013, 4014]);
/** Codes that end the session; the next one is new. */
const NEW_SESSION_CODES = new Set([4007, 4009]);

interface Session {
  readonly id: string;
  readonly url: string;
  readonly seq: number;
}

interface Frame {
  readonly op: number;
  readonly type: string;
  readonly seq: number | undefined;
  readonly data: unknown;
}

export interface GatewayOptions {
  readonly token: DiscordToken;
  /** The address of the Gateway. Default: Discord's own. */
  readonly url?: string;
}

export class DiscordGateway implements MessengerConnection {
  readonly #intake: ConnectionIntake;
  readonly #options: GatewayOptions;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #failures = 0;
  #identifiedAt = Number.NEGATIVE_INFINITY;

  constructor(intake: ConnectionIntake, options: GatewayOptions) {
    this.#intake = intake;
    this.#options = options;
  }

  drive(): void {
    if (this.#running || this.#stopping.signal.aborted) return;
    this.#running = this.#intake
      .run(() => this.#stayConnected())
      .catch((error: unknown) => console.error("The connection to Discord's Gateway ended.", error))
      .finally(() => (this.#running = undefined));
  }

  stop(): void {
    this.#stopping.abort();
  }

  /** Names the next full minute: the same however often it is asked. */
  nextWake(now: number): number | null {
    return this.#stopping.signal.aborted ? null : (Math.floor(now / CHECK_MS) + 1) * CHECK_MS;
  }

  async #stayConnected(): Promise<void> {
    const { clock } = this.#intake;
    while (!this.#stopping.signal.aborted) {
      const code = await this.#connectOnce().catch((error: unknown) => {
        console.warn("The connection to Discord's Gateway failed; it is opened again.", error);
        return 0;
      });
      if (FINAL_CODES.has(code)) {
        console.error(
          `Discord's Gateway refused the bot (code ${code}). Check its token, and the intent Message Content.`
        );
        this.stop();
        return;
      }
      if (NEW_SESSION_CODES.has(code)) await this.#keep(undefined);
      await clock.sleep(backoffMs(this.#failures, RETRY), this.#stopping.signal).catch(() => undefined);
      this.#failures += 1;
    }
  }

  /** Opens one socket and follows it. Resolves with the code of its end. */
  async #connectOnce(): Promise<number> {
    const session = this.#recallSession();
    const frames = new Frames(`${this.#chooseAddress(session).replace(/\/$/, "")}${QUERY}`);
    const stop = () => frames.close();
    this.#stopping.signal.addEventListener("abort", stop, { once: true });
    try {
      const first = frames.next();
      // Then the next frame is the code of the end.
      if (!(await happensWithin(HELLO_MS, first, this.#intake.clock))) stop();
      const hello = await first;
      if (typeof hello === "number") return hello;
      const interval = Number(readFields(hello.data)["heartbeat_interval"]);
      if (hello.op !== HELLO || !(interval > 0)) return 0;
      await this.#introduce(frames, session);
      return await this.#follow(frames, interval);
    } finally {
      this.#stopping.signal.removeEventListener("abort", stop);
      frames.close();
    }
  }

  /** Chooses the address: Discord may say where a session goes on, and no other sender. */
  #chooseAddress(session: Session | undefined): string {
    const given = this.#options.url ?? GATEWAY_URL;
    if (!session || isGateway(session.url, given)) return session?.url ?? given;
    console.warn("Discord's Gateway named an address that is not its own; the session goes on at the known one.");
    return given;
  }

  async #introduce(frames: Frames, session: Session | undefined): Promise<void> {
    const { token: given } = this.#options;
    const { clock } = this.#intake;
    const token = typeof given === "function" ? await given() : given;
    if (session) return frames.send(RESUME, { token, session_id: session.id, seq: session.seq });
    const wait = this.#identifiedAt + IDENTIFY_PAUSE_MS - clock.now();
    if (wait > 0) await clock.sleep(wait, this.#stopping.signal);
    this.#identifiedAt = clock.now();
    const properties = { os: "linux", browser: "everthink", device: "everthink" };
    frames.send(IDENTIFY, { token, intents: INTENTS, properties });
  }

  async #follow(frames: Frames, intervalMs: number): Promise<number> {
    const pulse = new AbortController();
    const state = { seq: this.#recallSession()?.seq ?? null, isAcknowledged: true };
    const beating = this.#beat(frames, { intervalMs, signal: pulse.signal, state }).catch(() => undefined);
    try {
      for (;;) {
        const frame = await frames.next();
        if (typeof frame === "number") return frame;
        if (frame.seq !== undefined) state.seq = frame.seq;
        if (frame.op === DISPATCH) await this.#dispatch(frame);
        else if (frame.op === HEARTBEAT) frames.send(HEARTBEAT, state.seq);
        else if (frame.op === HEARTBEAT_ACK) state.isAcknowledged = true;
        else if (frame.op === RECONNECT) return 0;
        else if (frame.op === INVALID_SESSION) {
          if (frame.data !== true) await this.#keep(undefined);
          return 0;
        }
      }
    } finally {
      pulse.abort();
      await beating;
    }
  }

  /** Sends heartbeats. A socket whose heartbeat is not answered is dead, though it is open. */
  async #beat(
    frames: Frames,
    {
      intervalMs,
      signal,
      state
    }: { intervalMs: number; signal: AbortSignal; state: { seq: number | null; isAcknowledged: boolean } }
  ): Promise<void> {
    // The first one at a random time: many bots come back at once.
    await this.#intake.clock.sleep(Math.floor(intervalMs * Math.random()), signal);
    for (;;) {
      if (!state.isAcknowledged) return frames.close();
      state.isAcknowledged = false;
      frames.send(HEARTBEAT, state.seq);
      await this.#intake.clock.sleep(intervalMs, signal);
    }
  }

  async #dispatch({ type, seq = 0, data }: Frame): Promise<void> {
    if (type === "READY" && isObject(data)) {
      this.#failures = 0;
      const url = String(data["resume_gateway_url"] ?? this.#options.url ?? GATEWAY_URL);
      await this.#keep({ id: String(data["session_id"]), url, seq });
    }
    if (type === "RESUMED") this.#failures = 0;
    if (type !== "MESSAGE_CREATE") return;
    // A failure ends the socket: resumed from the number that is stored, Discord sends the message again.
    await this.#intake.receive(
      // This messenger's own adapter.
      (adapter) => (adapter as DiscordAdapter).receive(data),
      () => {
        const session = this.#recallSession();
        if (session) this.#intake.remember(SESSION, { ...session, seq });
      }
    );
  }

  /** Stores the session, in line with webhooks: what is remembered while one is read is part of its transaction. */
  async #keep(session: Session | undefined): Promise<void> {
    await this.#intake.receive(
      async () => undefined,
      () => this.#intake.remember(SESSION, session)
    );
  }

  #recallSession(): Session | undefined {
    // Written by this class only.
    return this.#intake.recall(SESSION) as Session | undefined;
  }
}

function isGateway(url: string, given: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname, host } = new URL(url);
  const configured = new URL(given);
  const isConfigured = host === configured.host && protocol === configured.protocol;
  return isConfigured || (protocol === "wss:" && GATEWAY_HOSTS.test(hostname));
}

/** Gives what a socket brings, one frame at a time. A number is the code of its end. */
class Frames {
  readonly #socket: WebSocket;
  readonly #waiting: (Frame | number)[] = [];
  #changed: () => void = () => undefined;
  #isOver = false;

  constructor(url: string) {
    this.#socket = new WebSocket(url);
    this.#socket.addEventListener("message", ({ data }: MessageEvent) => this.#add(readFrame(data)));
    this.#socket.addEventListener("close", ({ code }: CloseEvent) => this.#end(code));
    this.#socket.addEventListener("error", () => this.#end(0));
  }

  async next(): Promise<Frame | number> {
    for (;;) {
      const frame = this.#waiting.shift();
      if (frame !== undefined) return frame;
      await new Promise<void>((resolve) => (this.#changed = resolve));
    }
  }

  send(op: number, d: unknown): void {
    if (!this.#isOver) this.#socket.send(JSON.stringify({ op, d }));
  }

  /** Closes with another code than 1000, which would end the session, too. */
  close(): void {
    if (!this.#isOver) this.#socket.close(4000, "reconnecting");
    this.#end(0);
  }

  #end(code: number): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#add(code);
  }

  #add(frame: Frame | number | undefined): void {
    if (frame === undefined) return;
    this.#waiting.push(frame);
    this.#changed();
  }
}

function readFrame(data: unknown): Frame | undefined {
  const { op, t, s, d } = parseFields(readString(data));
  if (typeof op !== "number") return undefined;
  return { op, type: readString(t), seq: typeof s === "number" ? s : undefined, data: d };
}
