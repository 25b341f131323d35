// The order of the documentation: of the site's navigation, of `llms.txt`, and of `everthink docs`. Each page of docs/ stands here
// once; a test compares.

export interface Section {
  readonly label: string;
  /** Paths below docs/, without ".md". */
  readonly pages: readonly string[];
  /** Closed until the reader opens it. */
  readonly isCollapsed?: true;
}

export const SECTIONS: readonly Section[] = [
  { label: "Start", pages: ["getting-started", "framework", "conventions", "studio", "testing", "troubleshooting"] },
  {
    label: "Guides",
    pages: [
      "client",
      "react",
      "connect",
      "actions",
      "workspace",
      "memory",
      "skills",
      "mcp",
      "tools",
      "web",
      "models",
      "budgets",
      "execute",
      "extensions",
      "agent-tools",
      "messengers",
      "submissions",
      "scheduled-tasks",
      "custom-servers",
      "self-hosting",
      "moving-from-think"
    ]
  },
  { label: "Concepts", pages: ["chat", "agent", "durability", "security", "architecture", "core", "comparison"] },
  { label: "Reference", pages: ["errors", "limits", "stability", "inspection", "performance", "decisions"] },
  {
    label: "Commands",
    pages: [
      "cli",
      ...[
        "init",
        "dev",
        "inspect",
        "types",
        "config",
        "eject",
        "skills-build",
        "migrate",
        "add",
        "doctor",
        "deploy",
        "user",
        "docs",
        "chat",
        "state",
        "approve",
        "costs",
        "chaos",
        "serve",
        "studio",
        "messenger-telegram-set-webhook"
      ].map((name) => `commands/${name}`)
    ],
    isCollapsed: true
  }
];
