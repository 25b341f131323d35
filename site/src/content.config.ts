import { docsSchema } from "@astrojs/starlight/schema";
import { glob } from "astro/loaders";
import { defineCollection } from "astro:content";

// The generator of the reference writes a list of modules whose pages it does not make: the navigation lists them.
const pages = glob({ base: "./src/content/docs", pattern: ["**/*.md", "!api/README.md"] });

export const collections = { docs: defineCollection({ loader: pages, schema: docsSchema() }) };
