// The page's drawings, all on a 20 × 20 grid with one line width. They say nothing by themselves: the control around
// them carries the name.
import type { ReactNode } from "react";

const PATHS = {
  plus: "M10 4v12M4 10h12",
  pencil: "m4 16 .8-3.4L13 4.4a1.5 1.5 0 0 1 2.1 0l.5.5a1.5 1.5 0 0 1 0 2.1l-8.2 8.2L4 16Z",
  trash: "M4 6h12M8 6V4.2h4V6M5.6 6l.6 10h7.6l.6-10M8.6 9v4.4M11.4 9v4.4",
  menu: "M3.5 6h13M3.5 10h13M3.5 14h8",
  close: "m5 5 10 10M15 5 5 15",
  sun: "M10 6.6a3.4 3.4 0 1 1 0 6.8 3.4 3.4 0 0 1 0-6.8ZM10 2v1.6M10 16.4V18M2 10h1.6M16.4 10H18M4.3 4.3l1.2 1.2M14.5 14.5l1.2 1.2M15.7 4.3l-1.2 1.2M5.5 14.5l-1.2 1.2",
  moon: "M16.4 12A7 7 0 0 1 8 3.6a6.8 6.8 0 1 0 8.4 8.4Z",
  layers: "m10 3 7 3.6-7 3.6-7-3.6L10 3ZM3.4 10.4 10 13.8l6.6-3.4M3.4 13.8 10 17.2l6.6-3.4",
  send: "M10 16V4.5M5 9.2 10 4.2l5 5",
  steer: "M4 4.5v4a4 4 0 0 0 4 4h8M12.2 8.7 16 12.5l-3.8 3.8",
  later: "M4 5h12M4 10h7M4 15h5M15 10.5v6M12 13.5h6",
  finish: "M5 5v10l7-5-7-5ZM15.5 5v10",
  image: "M3.5 4.5h13v11h-13zM3.5 13l3.6-3.4 3 2.8 2.5-2.2 3.9 3.4M12.9 7.8h.01",
  copy: "M7.5 7.5h8v8h-8zM12.5 7.5v-3h-8v8h3",
  check: "m4.5 10.5 3.6 3.6 7.4-8",
  again: "M15.8 8.4A6 6 0 1 0 16 11M16 4.6v3.9h-3.9",
  left: "m12 5-5 5 5 5",
  right: "m8 5 5 5-5 5",
  down: "M10 4v11.5M5 10.8l5 5 5-5",
  chevron: "m6.5 8.5 3.5 3.5 3.5-3.5",
  folder: "M3 15.5v-11h5l1.8 2H17v9H3Z",
  file: "M5.5 3h6l3.5 3.5V17h-9.5V3ZM11.5 3v3.5H15",
  book: "M10 5.2C8.4 4 6.2 3.6 3.5 3.8v11.4c2.7-.2 4.9.2 6.5 1.4 1.6-1.2 3.8-1.6 6.5-1.4V3.8c-2.7-.2-4.9.2-6.5 1.4ZM10 5.2v11.4",
  plug: "M7 3v4M13 3v4M5 7h10v2.5a5 5 0 0 1-10 0V7ZM10 14.5V18",
  chat: "M3.5 4.5h13v9H9.6L6 16.6v-3.1H3.5v-9ZM7 8h6M7 10.4h4",
  download: "M10 3.5v9M6.2 9 10 12.8 13.8 9M4 16.5h12",
  upload: "M10 13V4M6.2 7.6 10 3.8l3.8 3.8M4 16.5h12",
  warning: "M10 3.6 17.2 16H2.8L10 3.6ZM10 8.4v3.4M10 13.9h.01",
  hand: "M10 2.8a7.2 7.2 0 1 1 0 14.4 7.2 7.2 0 0 1 0-14.4ZM10 6.2V10l2.6 1.8",
  refuse: "M10 3a7 7 0 1 1 0 14 7 7 0 0 1 0-14ZM5.2 5.2l9.6 9.6"
} as const;

export type IconName = keyof typeof PATHS;

/**
 * One of the drawings of the parts. It says nothing by itself: name the control around it.
 *
 * @example
 * <button aria-label="Close"><Icon name="close" /></button>
 */
export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <Drawing size={size}>
      <path d={PATHS[name]} />
    </Drawing>
  );
}

export function StopIcon() {
  return (
    <Drawing size={18}>
      <rect x="6" y="6" width="8" height="8" rx="1.5" fill="currentColor" stroke="none" />
    </Drawing>
  );
}

function Drawing({ size, children }: { size: number; children: ReactNode }) {
  return (
    <svg
      className="think-icon"
      width={size}
      height={size}
      viewBox="0 0 20 20"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      {children}
    </svg>
  );
}
