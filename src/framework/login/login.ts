// A login for an app with agents: a form, a signed session in a cookie, and one agent per person. Who may log in and what
// sessions are signed with are variables of the Worker; without them no one gets in. In development (`everthink dev`, on the
// machine itself) every name may enter and a request without a session is the developer's.
import { refuseCrossSite } from "../../agent/cross-site.ts";
import { isDeveloped } from "../../util/development.ts";
import { isObject } from "../../util/json.ts";
import type { ThinkAgentRoute } from "../server-entry/agent-path.ts";
import type { ThinkRouter } from "../server-entry/router.ts";
import { attemptKeys, ProcessAttempts, TooManyAttemptsError, type AttemptCounts } from "./attempts.ts";
import { attemptObjects, SharedAttempts } from "./attempts-object.ts";
import { loginPage } from "./page.ts";
import { makeSession, readSession, sentSessions, sessionCookie, type Signer } from "./session.ts";
import { isPassword, MAX_PASSWORD_CHARS, MAX_USER_CHARS, readUsers, userName } from "./users.ts";

/** The name of requests without a session in development. */
export const DEVELOPER = "you@localhost";
const USER_HEADER = "x-everthink-user";
const LIFETIME_SECONDS = 7 * 24 * 60 * 60;
/** A shorter one could be guessed. */
const MIN_SECRET_CHARS = 32;
const MAX_FORM_BYTES = 4_096;

/** Who wants to reach which agent. */
export interface LoginVisit<Env> {
  readonly user: string;
  readonly route: ThinkAgentRoute;
  readonly env: Env;
}

export interface LoginOptions<Env> {
  /** The agent that a person's page talks to. Default: the one with the person's name. */
  readonly nameOf?: (user: string) => string;
  /** Whether a person may reach an agent. Default: only the one with the person's name, and those of names like `<name>:<id>`. */
  readonly mayEnter?: (visit: LoginVisit<Env>) => boolean;
  /** Requests that prove by themselves who sends them, such as signed webhooks. Default: none. */
  readonly needsNoLogin?: (request: Request, route: ThinkAgentRoute) => boolean;
  /** What else `GET /me` tells the page. */
  readonly about?: (env: Env) => object;
}

/** What the Worker's entry calls `src/server.ts` with. */
type AppCall<Env> = [request: Request, env: Env, ctx: unknown, app: { readonly router: Pick<ThinkRouter, "route"> }];

export interface Login<Env> {
  /** Of `src/server.ts`: answers /login, /logout and /me, and passes everything else on with the name of who asks. */
  fetch(...call: AppCall<Env>): Promise<Response | null>;
  /** Of `src/auth.ts`: asked before any agent is reached. */
  authorize(request: Request, route: ThinkAgentRoute, env: Env): Promise<Response | undefined>;
}

/**
 * A login with sessions in cookies. `LOGIN_USERS` and `SESSION_SECRET` are variables of the Worker. After 10 wrong passwords for a
 * name, or 100 from an address, nobody tries again for 15 minutes.
 *
 * @example
 * export const login = createLogin<Cloudflare.Env>();
 * // src/server.ts: export default { fetch: login.fetch };
 * // src/auth.ts: export default login.authorize;
 */
export function createLogin<Env>(options: LoginOptions<Env> = {}): Login<Env> {
  const { nameOf = (user: string) => user, about } = options;
  const { mayEnter = ({ user, route }: LoginVisit<Env>) => isOwn(route.name, nameOf(user)), needsNoLogin } = options;
  const counts = new ProcessAttempts();
  return {
    async fetch(...[request, env, ctx, { router }]) {
      const { pathname } = new URL(request.url);
      if (pathname === "/login") return answerLogin(request, env, counts);
      if (pathname === "/logout") return answerLogout(request);
      const { user } = await visitorOf(request, env);
      if (pathname === "/me") {
        const agent = user === undefined ? null : nameOf(user);
        const visitor = { user: user ?? null, agent, isDevelopment: isDeveloped(request, env), ...about?.(env) };
        return Response.json(visitor, {
          status: user === undefined ? 401 : 200,
          headers: { "cache-control": "no-store" }
        });
      }
      return router.route(withUser(request, user), env, ctx);
    },
    async authorize(request, route, env) {
      if (needsNoLogin?.(request, route)) return undefined;
      const { user, isDeveloper } = await visitorOf(request, env);
      if (user === undefined) return new Response("Log in first: /login", { status: 401 });
      // Only fetch() writes it: a client that sends it is not who it says.
      if ((userOf(request) ?? user) !== user) return new Response("Bad request", { status: 400 });
      return isDeveloper || mayEnter({ user, route, env }) ? undefined : new Response("Not yours", { status: 403 });
    }
  };
}

/**
 * Who sent a request that reached an agent: the name that `login.fetch` verified, or undefined. Only for Workers whose requests pass
 * `createLogin().fetch`: it removes the header that says so from what clients send. Without it anybody could be anybody.
 *
 * @example
 * override onConnect(connection: Connection, { request }: ConnectionContext) {
 *   connection.setState({ user: userOf(request) });
 * }
 */
export function userOf(request: Request): string | undefined {
  const value = request.headers.get(USER_HEADER);
  return value === null ? undefined : decodeURIComponent(value);
}

/** No name has a colon in it, so nothing below one person's is below another's. */
function isOwn(name: string, own: string): boolean {
  return name === own || name.startsWith(`${own}:`);
}

function withUser(request: Request, user: string | undefined): Request {
  const headers = new Headers(request.headers);
  headers.delete(USER_HEADER);
  if (user !== undefined) headers.set(USER_HEADER, encodeURIComponent(user));
  return new Request(request, { headers });
}

interface Visitor {
  readonly user?: string;
  /** In development and without a session: every agent of the machine's own is open. */
  readonly isDeveloper?: boolean;
}

async function visitorOf(request: Request, env: unknown): Promise<Visitor> {
  const signer = signerOf(request, env);
  for (const value of sentSessions(request)) {
    const user = await readSession(value, signer, Date.now());
    if (user !== undefined) return { user };
  }
  return isDeveloped(request, env) ? { user: DEVELOPER, isDeveloper: true } : {};
}

interface Settings {
  readonly secret: string;
  readonly users: ReadonlyMap<string, string>;
}

function settingsOf(env: unknown): Settings {
  const text = (name: string) => {
    const value = isObject(env) ? env[name] : undefined;
    return typeof value === "string" ? value : "";
  };
  return { secret: text("SESSION_SECRET"), users: readUsers(text("LOGIN_USERS")) };
}

function signerOf(request: Request, env: unknown): Signer {
  const { secret, users } = settingsOf(env);
  if (isDeveloped(request, env)) return (user) => ({ secret: secret || "development", hash: users.get(user) ?? "" });
  return (user) => {
    const hash = users.get(user);
    return hash === undefined || secret.length < MIN_SECRET_CHARS ? undefined : { secret, hash };
  };
}

async function answerLogin(request: Request, env: unknown, counts: AttemptCounts): Promise<Response> {
  const isOpen = isDeveloped(request, env);
  const { secret, users } = settingsOf(env);
  const missing = [
    ...(secret.length < MIN_SECRET_CHARS ? [`SESSION_SECRET (${MIN_SECRET_CHARS} characters or more)`] : []),
    ...(users.size === 0 ? ["LOGIN_USERS (npx everthink user <e-mail>)"] : [])
  ];
  if (!isOpen && missing.length > 0) {
    const problem = `No one can log in yet. The operator sets ${missing.join(" and ")}.`;
    return loginPage({ status: 503, problem, isClosed: true });
  }
  if (request.method === "GET" || request.method === "HEAD") return loginPage({ status: 200, isOpen });
  const refused = refuseForm(request);
  if (refused) return refused;
  const form = new URLSearchParams(await request.text());
  const [user, password] = [userName(form.get("user") ?? ""), form.get("password") ?? ""];
  const isShort =
    user !== "" && !user.includes(":") && user.length <= MAX_USER_CHARS && password.length <= MAX_PASSWORD_CHARS;
  if (!isShort) return loginPage({ status: 401, problem: WRONG, isOpen });
  if (!isOpen) {
    const attempt = await takeAttempt(request, env, { user, counts });
    if (attempt.error) return refusedPage(attempt.error);
    if (!(await isPassword(password, users.get(user)))) return loginPage({ status: 401, problem: WRONG });
    await attempt.giveBack();
  }
  const value = await makeSession(user, signerOf(request, env), Date.now() + LIFETIME_SECONDS * 1_000);
  return seeOther("/", sessionCookie(value, LIFETIME_SECONDS, new URL(request.url)));
}

const WRONG = "Name or password is wrong.";

interface Attempt {
  /** Set: it may not be made now. */
  readonly error?: TooManyAttemptsError;
  giveBack(): Promise<void>;
}

/** Counted in the app's objects, and where they cannot be reached in this process: never not at all. */
async function takeAttempt(
  request: Request,
  env: unknown,
  { user, counts }: { readonly user: string; readonly counts: AttemptCounts }
): Promise<Attempt> {
  // Only Cloudflare's edge says it so that a client cannot: elsewhere names alone are counted.
  const keys = attemptKeys(user, hasEdge(request) ? (request.headers.get("cf-connecting-ip") ?? undefined) : undefined);
  const objects = attemptObjects(env);
  const now = Date.now();
  const taken = async (from: AttemptCounts): Promise<Attempt> => {
    const wait = await from.take(keys, now);
    return { giveBack: () => from.giveBack(keys), ...(wait > 0 && { error: new TooManyAttemptsError(wait) }) };
  };
  if (!objects) return taken(counts);
  try {
    return await taken(new SharedAttempts(objects));
  } catch (error) {
    console.error("Attempts to log in are counted in this process only: LOGIN_ATTEMPTS failed.", error);
    return taken(counts);
  }
}

/** Requests that came over Cloudflare's network have the property `cf`; a client cannot make one. */
function hasEdge(request: Request): boolean {
  return isObject((request as { cf?: unknown }).cf);
}

function refusedPage({ message, waitMs }: TooManyAttemptsError): Response {
  const page = loginPage({ status: 429, problem: message });
  page.headers.set("retry-after", String(Math.ceil(waitMs / 1_000)));
  return page;
}

function answerLogout(request: Request): Response {
  return refuseForm(request) ?? seeOther("/login", sessionCookie("", 0, new URL(request.url)));
}

/** A page of another site must not log a person in or out. */
function refuseForm(request: Request): Response | undefined {
  if (request.method !== "POST") return new Response("POST only", { status: 405, headers: { allow: "POST" } });
  const length = Number(request.headers.get("content-length") ?? Number.NaN);
  if (request.body !== null && !(length <= MAX_FORM_BYTES)) return new Response("Too large", { status: 413 });
  return refuseCrossSite(request, []);
}

function seeOther(location: string, cookie: string): Response {
  return new Response(null, { status: 303, headers: { location, "set-cookie": cookie, "cache-control": "no-store" } });
}
