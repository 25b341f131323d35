// The questions of `everthink init` to a user at a terminal. Undefined at any of them: the user gave up.
import type * as clack from "@clack/prompts";
import type { CliTerminal } from "../cli-context.ts";
import { findProvider, OFFLINE, PROVIDERS, wrongKey, type ModelAnswers, type ModelProvider } from "./providers.ts";
import type { Starter } from "./starters.ts";

export interface ProjectChoice {
  readonly directory: string | undefined;
  readonly template: string | undefined;
  readonly model: ModelAnswers | undefined;
}

export interface ProjectQuestion {
  /** What the arguments say is not asked. */
  readonly given: ProjectChoice;
  readonly fallback: string;
  readonly starters: readonly Starter[];
  readonly environment: Readonly<Record<string, string | undefined>>;
}

type Prompts = typeof clack;
type Place = Pick<CliTerminal, "input" | "output">;

const GIVEN_UP = Symbol("given up");

export async function askForProject(question: ProjectQuestion, place: Place): Promise<ProjectChoice | undefined> {
  const prompts = await import("@clack/prompts");
  const { input, output } = place;
  prompts.intro("everthink", { input, output });
  try {
    return await new Questions(prompts, { input, output }).project(question);
  } catch (error) {
    if (error !== GIVEN_UP) throw error;
    prompts.cancel("Nothing was made.", { input, output });
    return undefined;
  }
}

/** What is asked about one provider; undefined: the user gave up. */
export async function askForModel(
  provider: ModelProvider,
  environment: ProjectQuestion["environment"],
  { input, output }: Place
): Promise<ModelAnswers | undefined> {
  const prompts = await import("@clack/prompts");
  try {
    return await new Questions(prompts, { input, output }).answers(provider, environment);
  } catch (error) {
    if (error !== GIVEN_UP) throw error;
    prompts.cancel("Nothing was changed.", { output });
    return undefined;
  }
}

class Questions {
  readonly #prompts: Prompts;
  readonly #place: Place;

  constructor(prompts: Prompts, place: Place) {
    this.#prompts = prompts;
    this.#place = place;
  }

  async project({ given, fallback, starters, environment }: ProjectQuestion): Promise<ProjectChoice> {
    const directory = given.directory ?? (await this.#text("Where?", fallback));
    const options = starters.map(({ name, title }) => ({ value: name, label: `${name}: ${title}` }));
    const template = given.template ?? (await this.#select("Which starter?", options));
    return { directory, template, model: given.model ?? (await this.#model(environment)) };
  }

  async #model(environment: ProjectQuestion["environment"]): Promise<ModelAnswers> {
    const options = PROVIDERS.map(({ id, title }) => ({ value: id, label: title }));
    const id = await this.#select("Which model?", options);
    const provider = findProvider(id);
    return id === OFFLINE || provider === undefined ? { provider: OFFLINE } : this.answers(provider, environment);
  }

  async answers(provider: ModelProvider, environment: ProjectQuestion["environment"]): Promise<ModelAnswers> {
    const url = provider.asks.includes("url")
      ? await this.#text("Where is it? Most addresses end in /v1", "http://localhost:11434/v1")
      : undefined;
    const account = provider.asks.includes("account") ? await this.#text("Id of the Cloudflare account?") : undefined;
    const model = provider.asks.includes("model") ? await this.#text("Which of its models?") : undefined;
    const inShell = environment[provider.keyVariable ?? ""];
    if (inShell)
      this.#prompts.log.info(`${provider.keyVariable} of the shell is used.`, { output: this.#place.output });
    const key = inShell || (await this.#key(provider));
    return { provider: provider.id, url, account, model, key, isKeyOfShell: Boolean(inShell) };
  }

  /** Undefined: the user has it later. */
  async #key({ title, isKeyOptional }: ModelProvider): Promise<string | undefined> {
    const answer = await this.#prompts.password({
      message: isKeyOptional ? "Its key? Empty: it wants none" : `Key of ${title}? Empty: later`,
      validate: (text) => (text?.trim() ? wrongKey(text.trim()) : undefined),
      ...this.#place
    });
    // Of an empty answer it gives nothing at all.
    const key: string | undefined = this.#answered(answer);
    return key?.trim() || undefined;
  }

  async #text(message: string, fallback?: string): Promise<string> {
    const isMissing = (text: string | undefined) => (text?.trim() ? undefined : "It is needed.");
    const answer = await this.#prompts.text({
      message,
      ...(fallback === undefined ? { validate: isMissing } : { placeholder: fallback, defaultValue: fallback }),
      ...this.#place
    });
    return this.#answered(answer).trim();
  }

  async #select(message: string, options: { value: string; label: string }[]): Promise<string> {
    return this.#answered(await this.#prompts.select({ message, options, ...this.#place }));
  }

  #answered<Answer>(answer: Answer): Exclude<Answer, symbol> {
    if (typeof answer === "symbol") throw GIVEN_UP;
    return answer as Exclude<Answer, symbol>;
  }
}
