// The line above a conversation: what it is called, who answers, what is going on, and the controls of the page.
import type { ReactNode } from "react";
import type { ConnectionState, Status } from "everthink/client";
import type { ModelStatus } from "../../shared/demo.ts";
import { IconButton } from "../icon-button.tsx";
import { HIDE_PANEL, SHOW_PANEL, type PanelSwitch } from "../panel/use-panel.ts";
import { chooseTheme, useTheme } from "../theme.ts";
import { StatusPill } from "./status-pill.tsx";

interface HeaderProps {
  title: string;
  model: ModelStatus | undefined;
  status: Status;
  connection: ConnectionState;
  panel: PanelSwitch;
  onShowConversations(): void;
  /** The plug, where there is one. */
  children: ReactNode;
}

export function Header(props: HeaderProps) {
  const { title, model, status, connection, panel, onShowConversations, children } = props;
  const theme = useTheme();
  const other = theme === "dark" ? "light" : "dark";
  return (
    <header className="header">
      <IconButton icon="menu" label="Show conversations" className="phone-only" onClick={onShowConversations} />
      <div className="header-title">
        <h1 title={title}>{title}</h1>
        <p className="header-facts">
          <StatusPill status={status} connection={connection} />
          {model !== undefined && (
            <span className="model-chip" data-problem={model.problem !== undefined || undefined}>
              {model.label}
            </span>
          )}
        </p>
      </div>
      {children}
      <IconButton
        icon={theme === "dark" ? "sun" : "moon"}
        label={`Switch to ${other} theme`}
        onClick={() => chooseTheme(other)}
      />
      <IconButton
        icon="layers"
        label={panel.isOpen ? HIDE_PANEL : SHOW_PANEL}
        aria-expanded={panel.isOpen}
        ref={panel.toggleRef}
        onClick={panel.toggle}
      />
    </header>
  );
}
