// The panel: one of several views on what is behind a conversation. A column beside it, or a sheet below it where there
// is no room for one.
import type { KeyboardEvent, RefObject } from "react";
import { IconButton, useSetting } from "everthink/react";
import { hasRoom, HIDE_PANEL } from "./use-panel.ts";
import { PANEL_VIEWS, UNDERNEATH, type PanelView, type PanelViewProps } from "./views.ts";

interface PanelProps extends PanelViewProps {
  headingRef: RefObject<HTMLHeadingElement | null>;
  onHide(): void;
}

export function Panel({ id, chat, headingRef, onHide }: PanelProps) {
  const [view, show] = useView();
  const onKeyDown = (event: KeyboardEvent) => {
    // A column stays: there Escape is the answer's.
    if (event.key !== "Escape" || hasRoom()) return;
    event.preventDefault();
    onHide();
  };
  return (
    <aside className="panel" aria-label={view.name} onKeyDown={onKeyDown}>
      <div className="panel-head">
        <h2 ref={headingRef} tabIndex={-1}>
          {view.name}
        </h2>
        <Tabs view={view} onShow={show} />
        <IconButton icon="close" label={HIDE_PANEL} className="panel-hide" onClick={onHide} />
      </div>
      <div className="panel-view" role="tabpanel" aria-label={view.name}>
        <view.View id={id} chat={chat} />
      </div>
    </aside>
  );
}

/** This browser remembers which. */
function useView(): [PanelView, (view: PanelView) => void] {
  const [name, setName] = useSetting("panel-view");
  return [PANEL_VIEWS.find((view) => view.name === name) ?? UNDERNEATH, (view) => setName(view.name)];
}

function Tabs({ view, onShow }: { view: PanelView; onShow(view: PanelView): void }) {
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const next = PANEL_VIEWS.at((PANEL_VIEWS.indexOf(view) + step) % PANEL_VIEWS.length);
    if (step === 0 || next === undefined) return;
    event.preventDefault();
    onShow(next);
    event.currentTarget.querySelectorAll("button")[PANEL_VIEWS.indexOf(next)]?.focus();
  };
  return (
    <div className="panel-tabs" role="tablist" aria-label="What the panel shows" onKeyDown={onKeyDown}>
      {PANEL_VIEWS.map((each) => (
        <IconButton
          key={each.name}
          role="tab"
          icon={each.icon}
          label={each.name}
          aria-selected={each === view}
          tabIndex={each === view ? 0 : -1}
          onClick={() => onShow(each)}
        />
      ))}
    </div>
  );
}
