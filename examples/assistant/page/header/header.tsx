// The line above a conversation: what it is called, who answers, what is going on, and the controls of the page.
import type { ReactNode } from "react";
import { IconButton, StatusPill, ThemeButton } from "everthink/react";
import type { ModelStatus } from "../../shared/demo.ts";
import { HIDE_PANEL, SHOW_PANEL, type PanelSwitch } from "../panel/use-panel.ts";

interface HeaderProps {
  title: string;
  model: ModelStatus | undefined;
  panel: PanelSwitch;
  onShowConversations(): void;
  /** The plug, where there is one. */
  children: ReactNode;
}

export function Header(props: HeaderProps) {
  const { title, model, panel, onShowConversations, children } = props;
  return (
    <header className="header">
      <IconButton icon="menu" label="Show conversations" className="phone-only" onClick={onShowConversations} />
      <div className="header-title">
        <h1 title={title}>{title}</h1>
        <p className="header-facts">
          <StatusPill />
          {model !== undefined && (
            <span className="model-chip" data-problem={model.problem !== undefined || undefined}>
              {model.label}
            </span>
          )}
        </p>
      </div>
      {children}
      <ThemeButton />
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
