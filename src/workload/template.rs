//! From a pod template to a pod: the parts that every operator shares.
