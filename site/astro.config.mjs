// The documentation as a site: the pages of docs/, the README in front, and the reference that is generated from the types.
import starlight from "@astrojs/starlight";
import mermaid from "astro-mermaid";
import { defineConfig } from "astro/config";
import starlightTypeDoc, { typeDocSidebarGroup } from "starlight-typedoc";
import { SECTIONS } from "./navigation.ts";

export default defineConfig({
  outDir: "../docs/dist",
  telemetry: false,
  integrations: [
    mermaid({ autoTheme: true }),
    starlight({
      title: "everthink",
      description: "A durable chat-agent base class for TypeScript.",
      lastUpdated: false,
      pagefind: true,
      customCss: ["./src/site.css"],
      sidebar: [
        { label: "Playground", slug: "playground" },
        ...SECTIONS.map(({ label, pages, isCollapsed }) => ({
          label,
          collapsed: isCollapsed ?? false,
          items: pages
        })),
        { ...typeDocSidebarGroup, label: "API", collapsed: true }
      ],
      plugins: [
        starlightTypeDoc({
          entryPoints: ["./reference/**/*.ts"],
          tsconfig: "./tsconfig.reference.json",
          output: "api",
          typeDoc: {
            excludePrivate: true,
            excludeInternal: true,
            excludeExternals: true,
            disableSources: true,
            skipErrorChecking: true,
            readme: "none",
            useCodeBlocks: true,
            parametersFormat: "table",
            propertiesFormat: "table",
            logLevel: "Error"
          }
        })
      ]
    })
  ]
});
