// Style sheets are imported for their effect; the bundler takes them up.
declare module "*.css";

/** Set by Vite: the page is served by its development server, where Studio is. */
interface ImportMeta {
  readonly env: { readonly DEV: boolean };
}
