// One server: how it is, the way to log in to it, and each of its tools with what may happen to it.
import { ruleOf, TOOL_RULES, type ToolRule, type ToolRules } from "../../shared/tool-rules.ts";
import { describeToolAnnotations, IconButton } from "everthink/react";
import { stateWords, type ShownServer, type ShownTool } from "./shown-servers.ts";

interface ServerCardProps {
  server: ShownServer;
  rules: ToolRules | undefined;
  onRetry(): void;
  onForget(): void;
  onRule(key: string, rule: ToolRule): void;
}

const LOGIN_WINDOW = "popup,width=520,height=680";

export function ServerCard({ server, rules, onRetry, onForget, onRule }: ServerCardProps) {
  const { name, server_url: url, auth_url: loginUrl, error, tools } = server;
  const { word, tone } = stateWords(server);
  return (
    <li className="server-card" data-tone={tone}>
      <div className="server-head">
        <span className="server-dot" aria-hidden="true" />
        <h3 title={url}>{name}</h3>
        <IconButton icon="trash" size={16} label={`Remove ${name}`} onClick={onForget} />
        <p className="server-state">{word}</p>
      </div>
      {error !== null && <p className="server-problem">{error}</p>}
      {tone === "ask" && loginUrl !== null && (
        <button
          type="button"
          className="think-solid-button"
          onClick={() => void window.open(loginUrl, `login-${server.id}`, LOGIN_WINDOW)}
        >
          Log in to {name}
        </button>
      )}
      {tone === "failed" && (
        <button type="button" className="think-line-button" onClick={onRetry}>
          Try again
        </button>
      )}
      {tools.length > 0 && (
        <ul className="server-tools" aria-label={`Tools of ${name}`}>
          {tools.map((tool) => (
            <ToolRow key={tool.toolKey} tool={tool} rules={rules} onRule={onRule} />
          ))}
        </ul>
      )}
    </li>
  );
}

interface ToolRowProps {
  tool: ShownTool;
  rules: ToolRules | undefined;
  onRule(key: string, rule: ToolRule): void;
}

function ToolRow({ tool, rules, onRule }: ToolRowProps) {
  const { name, toolKey: key, description, annotations } = tool;
  const chosen = ruleOf({ key, ...(annotations && { annotations }) }, rules);
  const hint = describeToolAnnotations(annotations);
  return (
    <li data-hidden={chosen === "hide" || undefined}>
      <span className="server-tool" title={description}>
        <span className="think-tool-name">{name}</span>
        {hint !== undefined && (
          <span className="hint" data-hint={hint}>
            {hint}
          </span>
        )}
      </span>
      <span className="rule" role="radiogroup" aria-label={`What may happen with ${name}`}>
        {TOOL_RULES.map((rule) => (
          <label key={rule}>
            <input
              type="radio"
              className="think-only-heard"
              name={`rule-${key}`}
              checked={rule === chosen}
              onChange={() => onRule(key, rule)}
            />
            {rule}
          </label>
        ))}
      </span>
    </li>
  );
}
