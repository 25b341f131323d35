// The column beside the conversation, or a sheet below it where there is no room for one. It shows one of its pages; the
// others are buttons next to its title.
import type { KeyboardEvent } from "react";
import type { useConversation } from "../conversation/use-conversation.ts";
import { IconButton } from "../icon-button.tsx";
import { PANEL_PAGES } from "./panel-pages.ts";
import { hasRoom, HIDE_PANEL, type PanelSwitch } from "./use-panel.ts";

export interface PanelPageProps {
  chat: ReturnType<typeof useConversation>;
}

export function Panel({ chat, panel }: PanelPageProps & { panel: PanelSwitch }) {
  const { title, headingRef, hide, select } = panel;
  const page = PANEL_PAGES.find((candidate) => candidate.title === title);
  const onKeyDown = (event: KeyboardEvent) => {
    // A column stays: there Escape is the answer's.
    if (event.key !== "Escape" || hasRoom()) return;
    event.preventDefault();
    hide();
  };
  return (
    <aside className="panel" aria-label={title} onKeyDown={onKeyDown}>
      <div className="panel-head">
        {PANEL_PAGES.map((other) =>
          other === page ? (
            <h2 key={other.title} ref={headingRef} tabIndex={-1}>
              {other.title}
            </h2>
          ) : (
            <button key={other.title} type="button" className="panel-turn" onClick={() => select(other.title)}>
              {other.title}
            </button>
          )
        )}
        <IconButton icon="close" label={HIDE_PANEL} onClick={hide} />
      </div>
      {page && <page.Content chat={chat} />}
    </aside>
  );
}
