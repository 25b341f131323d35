// Style sheets are imported for their effect; the bundler takes them up.
declare module "*.css";
