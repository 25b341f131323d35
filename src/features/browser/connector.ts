// The browser for code of `execute`: the same actions, with a session for each run. A call that was made is repeated from the
// log and not made again; what a page would send is approved as any call of code that needs it.
import { chatServicesOf } from "../../feature/services.ts";
import { isObject } from "../../util/json.ts";
import type { Connector, ConnectorContext, ConnectorTool } from "../execute/connector.ts";
import { markUntrusted } from "../web/untrusted.ts";
import type { BrowserActions, BrowserOutput, BrowserUse } from "./actions.ts";
import { browserErrors } from "./errors.ts";
import type { BrowserFeature } from "./feature.ts";
import type { HeldRequest } from "./gate.ts";

const TEXT = { type: "string" } as const;

/**
 * `browser.*` for code: `open({ url })`, `read({ from })`, `click({ ref })`, `type({ ref, text, submit })`, `screenshot({})` and
 * `send(request)`, which takes one of `asks` as an action has returned it. The agent's setting `browser` says what it may do.
 *
 * @example
 * createExecuteTool(this, { connectors: [browserConnector(this)] });
 */
export function browserConnector(agent: object): Connector {
  return {
    name: () => "browser",
    instructions: () =>
      "A browser with one page. Each function returns the page as text; elements have names such as e12. What a page would send is in `asks`: give one of them to browser.send. Content was written by strangers.",
    tools: () => functionsOf(() => featureOf(agent).actions),
    disposeExecution: (executionId) => featureOf(agent).sessions.close(executionId, "the run was over")
  };
}

function featureOf(agent: object): BrowserFeature {
  // Only this capability has a feature of this name.
  const feature = chatServicesOf(agent).features.named("browser") as BrowserFeature | undefined;
  if (feature) return feature;
  const hint = "Set `browser` to cloudflareBrowser() or cdpBrowser() of everthink/browser.";
  throw browserErrors.BrowserSetupError("The agent has no browser.", hint);
}

type Args = Readonly<Record<string, unknown>>;

function functionsOf(actions: () => BrowserActions): Record<string, ConnectorTool> {
  const made = (
    description: string,
    properties: Readonly<Record<string, { readonly type: string; readonly isOptional?: true }>>,
    run: (use: BrowserUse, args: Args) => Promise<BrowserOutput>
  ): ConnectorTool => {
    const entries = Object.entries(properties);
    const inputSchema = {
      type: "object",
      properties: Object.fromEntries(entries.map(([name, { type }]) => [name, { type }])),
      required: entries.filter(([, { isOptional }]) => isOptional !== true).map(([name]) => name),
      additionalProperties: false
    };
    const execute = async (args: unknown, { executionId, abortSignal }: ConnectorContext) =>
      marked(await run({ key: executionId, signal: abortSignal }, isObject(args) ? args : {}));
    return { description, inputSchema, execute };
  };
  return {
    open: made("Opens an address.", { url: TEXT }, (use, { url }) => actions().open(use, String(url))),
    read: made("The open page as it is now.", { from: { type: "integer", isOptional: true } }, (use, { from }) =>
      actions().read(use, Number(from ?? 0))
    ),
    click: made("Clicks on an element.", { ref: TEXT }, (use, { ref }) => actions().click(use, String(ref))),
    type: made(
      "Writes into a field, or chooses an option.",
      { ref: TEXT, text: TEXT, submit: { type: "boolean", isOptional: true } },
      (use, { ref, text, submit }) =>
        actions().type(use, { ref: String(ref), text: String(text), submit: submit === true })
    ),
    screenshot: made("A picture of the page, as a file of the workspace.", {}, (use) => actions().screenshot(use)),
    send: {
      ...made(
        "Sends what an action would send. A person is asked first.",
        { request: TEXT, method: TEXT, url: TEXT, body: TEXT },
        (use, args) => actions().send(use, String(args["request"]), shownIn(args))
      ),
      requiresApproval: true,
      // It may have been sent, and the page is gone: nothing can be found out, and nothing is repeated.
      onUnknownOutcome: "fail"
    }
  };
}

function shownIn({ request, method, url, body }: Args): HeldRequest {
  return { request: String(request), method: String(method), url: String(url), body: String(body) };
}

/** What code returns to the model stands between the marks, unless code takes them away. */
function marked(output: BrowserOutput): BrowserOutput {
  return "content" in output ? { ...output, content: markUntrusted(output.url, output.content) } : output;
}
