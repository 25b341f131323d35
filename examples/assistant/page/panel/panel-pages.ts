// The pages of the panel, in the order of their buttons.
import type { ReactNode } from "react";
import { ServersPage } from "../servers/servers-page.tsx";
import type { PanelPageProps } from "./panel.tsx";
import { Underneath } from "./underneath.tsx";
import { FIRST_TITLE } from "./use-panel.ts";

export interface PanelPage {
  readonly title: string;
  readonly Content: (props: PanelPageProps) => ReactNode;
}

export const PANEL_PAGES: readonly PanelPage[] = [
  { title: FIRST_TITLE, Content: Underneath },
  { title: "MCP servers", Content: ServersPage }
];
