// A counter everybody shares, a stream, and a reminder that survives a restart: the smallest tour of `Agent`.
// Run it with `npm start`, open the page in two tabs, stop the server in between, and look what is still there.
import { Agent, callable, routeAgentRequest, type StreamingResponse } from "everthink/agent";
import page from "./index.html";

const MAX_STREAM_LENGTH = 50;
const STREAM_PAUSE_MS = 150;
const MAX_DELAY_SECONDS = 3600;
const MAX_NOTE_LENGTH = 200;
/** Older reminders are dropped from the state, which every client receives as a whole. */
const KEPT_REMINDERS = 5;

export interface Env {
  Hello: DurableObjectNamespace<Hello>;
}

export interface HelloState {
  count: number;
  reminders: { note: string; at: string }[];
}

export class Hello extends Agent<Env, HelloState> {
  override initialState: HelloState = { count: 0, reminders: [] };

  @callable({ description: "Changes the shared counter and returns its new value." })
  add(amount: number): number {
    const count = this.state.count + wholeNumber("amount", amount, { from: -100, to: 100 });
    this.setState({ ...this.state, count });
    return count;
  }

  @callable({ description: "Streams the numbers from one to the given one.", streaming: true })
  async countTo(stream: StreamingResponse, last: number): Promise<void> {
    const end = wholeNumber("last", last, { from: 1, to: MAX_STREAM_LENGTH });
    for (let number = 1; number <= end; number += 1) {
      // False when the client has gone: nobody reads the rest.
      if (!stream.send(number)) return;
      await scheduler.wait(STREAM_PAUSE_MS);
    }
    stream.end("done");
  }

  @callable({ description: "Puts a note into the state after some seconds, even if the server restarts meanwhile." })
  async remindIn(seconds: number, note: string): Promise<string> {
    const delay = wholeNumber("seconds", seconds, { from: 1, to: MAX_DELAY_SECONDS });
    const { id } = await this.schedule(delay, "remind", String(note).slice(0, MAX_NOTE_LENGTH));
    return id;
  }

  remind(note: string): void {
    const reminders = [{ note, at: new Date().toISOString() }, ...this.state.reminders].slice(0, KEPT_REMINDERS);
    this.setState({ ...this.state, reminders });
  }
}

/** Arguments come from a client, so their types are a wish. */
function wholeNumber(name: string, value: unknown, range: { from: number; to: number }): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= range.from && value <= range.to) return value;
  throw new Error(`${name} must be a whole number from ${range.from} to ${range.to}.`);
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const answer = await routeAgentRequest(request, env);
    if (answer) return answer;
    if (new URL(request.url).pathname !== "/") return new Response("Not found", { status: 404 });
    return new Response(page, { headers: { "content-type": "text/html; charset=utf-8" } });
  }
};
