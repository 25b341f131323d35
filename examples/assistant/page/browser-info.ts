// The tool that runs in the page: what only the browser knows. It only reads, so it may run again after a reload.
import type { ClientTools } from "everthink/client";
import { shownTheme } from "everthink/react";

export const browserTools: ClientTools = {
  browser_info: {
    description: "The size of the user's browser window in CSS pixels, their time zone, language and colour theme.",
    parameters: { type: "object", properties: {}, additionalProperties: false },
    execute: () => ({
      width: innerWidth,
      height: innerHeight,
      timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      language: navigator.language,
      theme: shownTheme()
    })
  }
};
