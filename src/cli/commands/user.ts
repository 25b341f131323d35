// `everthink user`: who may log in to an app with createLogin(). Makes the values of LOGIN_USERS and SESSION_SECRET.
import { randomBytes } from "node:crypto";
import { readVariables, VARIABLES_FILE } from "../../framework/project/declared-variables.ts";
import {
  base64url,
  MAX_PASSWORD_CHARS,
  MAX_USER_CHARS,
  readUsers,
  userLine,
  userName
} from "../../framework/login/users.ts";
import { CommandError, type CliContext } from "../cli-context.ts";
import { usageError, type ParsedArguments } from "../command-line.ts";
import { writeVariables } from "../init/variables-file.ts";
import { requireProject, rootOf } from "../load-project.ts";

const SECRET_BYTES = 32;
const MIN_PASSWORD_CHARS = 8;

export async function runUser(parsed: ParsedArguments, context: CliContext): Promise<number> {
  const user = userName(parsed.positionals[0] ?? "");
  // Of such a character the list would be cut there.
  if (user === "" || user.length > MAX_USER_CHARS || !/^[\w.@%+~-]+$/.test(user)) {
    throw usageError(parsed.name, "Name who may log in by an e-mail address, such as ada@example.com.");
  }
  const root = rootOf(parsed, context);
  if (parsed.flag("write")) requireProject(root);
  const known = readVariables(root, VARIABLES_FILE);
  const users = new Map(readUsers(known.get("LOGIN_USERS")));
  const line = await userLine(user, await passwordOf(parsed, context));
  users.set(user, line.slice(user.length + 1));
  const list = [...users].map(([name, hash]) => `${name}:${hash}`).join(",");
  const secret = known.get("SESSION_SECRET") || base64url(randomBytes(SECRET_BYTES));
  const values = new Map([
    ["LOGIN_USERS", list],
    ["SESSION_SECRET", secret]
  ]);
  if (parsed.flag("json")) context.print(JSON.stringify(Object.fromEntries(values), null, 2));
  if (parsed.flag("write")) {
    writeVariables(root, values);
    context.note(`${VARIABLES_FILE} lets ${[...users.keys()].join(", ")} in.`);
  } else if (!parsed.flag("json")) {
    for (const [name, value] of values) context.print(`${name}=${value}`);
  }
  context.note("On Cloudflare each is a secret: npx wrangler secret put LOGIN_USERS, then SESSION_SECRET.");
  return 0;
}

async function passwordOf(parsed: ParsedArguments, { environment, terminal }: CliContext): Promise<string> {
  const variable = parsed.text("password-var");
  const given = variable === undefined ? undefined : environment[variable];
  if (variable !== undefined && !given) throw usageError(parsed.name, `The variable ${variable} is not set.`);
  const password = given ?? (await ask(terminal));
  const wrong = wrongPassword(password);
  if (wrong !== undefined) throw new CommandError(wrong);
  return password;
}

function wrongPassword(password: string): string | undefined {
  const isFit = password.length >= MIN_PASSWORD_CHARS && password.length <= MAX_PASSWORD_CHARS;
  return isFit ? undefined : `A password has ${MIN_PASSWORD_CHARS} to ${MAX_PASSWORD_CHARS} characters.`;
}

async function ask(terminal: CliContext["terminal"]): Promise<string> {
  if (terminal === undefined) throw new CommandError("There is no password.", "Give one: --password-var <NAME>");
  const { isCancel, password } = await import("@clack/prompts");
  const { input, output } = terminal;
  const answer = await password({ message: "Password?", validate: (text) => wrongPassword(text ?? ""), input, output });
  if (isCancel(answer)) throw new CommandError("Nothing was made.");
  return answer;
}
