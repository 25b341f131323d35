// One promise of the example, played by a person in a browser. The player gives every scenario a fresh browser and a
// fresh conversation, and holds it to a quiet console.
import type { Browser, BrowserContextOptions } from "playwright-core";
import { expect, test } from "vitest";
import type { ExampleServer } from "./example-server.ts";
import { Visitor } from "./visitor.ts";

const OUTPUT_TOLD = 2_000;

export interface Scenario {
  /** The promise. */
  readonly name: string;
  /** The browser it needs; a desktop with a light theme otherwise. */
  readonly device?: BrowserContextOptions;
  /** It looks for its conversation itself. */
  readonly arrivesOnly?: true;
  play(stage: Stage): Promise<void>;
}

export interface Stage {
  readonly server: ExampleServer;
  readonly visitor: Visitor;
  /** Another tab of the same browser, on the same conversation unless another is named. */
  anotherTab(path?: string): Promise<Visitor>;
  /** Another person, with a browser of their own. */
  anotherVisitor(): Promise<Visitor>;
}

export interface Theatre {
  readonly browser: Browser;
  readonly server: ExampleServer;
}

export function declare(scenarios: readonly Scenario[], theatre: () => Theatre): void {
  for (const scenario of scenarios) test(scenario.name, () => play(scenario, theatre()));
}

async function play(scenario: Scenario, { browser, server }: Theatre): Promise<void> {
  const visitors: Visitor[] = [];
  const complaints = (): string[] => {
    const wasServerKilled = visitors.some(({ hasPulledThePlug }) => hasPulledThePlug);
    return visitors.flatMap((visitor) => visitor.complaints({ wasServerKilled }));
  };
  const present = (visitor: Visitor): Visitor => {
    visitors.push(visitor);
    return visitor;
  };
  try {
    const visitor = present(await Visitor.arrive(browser, server, scenario.device));
    if (!scenario.arrivesOnly) await visitor.newConversation();
    await scenario.play({
      server,
      visitor,
      anotherTab: async (path) => present(await visitor.anotherTab(path)),
      anotherVisitor: async () => present(await Visitor.arrive(browser, server))
    });
    expect(complaints()).toEqual([]);
  } catch (error) {
    console.error([scenario.name, ...complaints(), server.output.slice(-OUTPUT_TOLD)].join("\n"));
    await visitors[0]?.photograph(`failed-${scenario.name.replaceAll(/\W+/g, "-").slice(0, 60)}`);
    throw error;
  } finally {
    await Promise.all(visitors.map((visitor) => visitor.leave()));
  }
}
