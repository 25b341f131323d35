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
  {
    label: "Start",
    pages: ["getting-started", "deploy", "framework", "conventions", "studio", "troubleshooting", "faq"]
  },
  {
    label: "Guides",
    pages: [
      "react",
      "client",
      "connect",
      "human-approval",
      "custom-servers",
      "tenants",
      "rag",
      "files",
      "multi-agent",
      "messengers",
      "scheduled-tasks",
      "submissions",
      "testing",
      "evals",
      "observability",
      "production",
      "self-hosting",
      "moving-from-think"
    ]
  },
  {
    label: "Concepts",
    pages: ["chat", "durability", "actions", "memory", "agent", "security", "architecture", "glossary"]
  },
  {
    label: "Capabilities",
    pages: [
      "workspace",
      "skills",
      "mcp",
      "tools",
      "web",
      "models",
      "budgets",
      "execute",
      "extensions",
      "agent-tools",
      "inspection",
      "core"
    ]
  },
  {
    label: "Reference",
    pages: [
      "configuration",
      "errors",
      "events",
      "limits",
      "upgrading",
      "stability",
      "performance",
      "comparison",
      "decisions"
    ]
  },
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
        "logs",
        "upgrade",
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
