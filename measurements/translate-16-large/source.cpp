#include <map>
#include <string>
#include <vector>
#include <algorithm>
#include <regex>
#include <iostream>
int main(){ std::map<std::string,std::vector<int>> m; std::regex r("a+b*"); for(int i=0;i<10;i++) m[std::to_string(i)].push_back(i); for(auto&[k,v]:m) std::cout<<k<<v.size()<<std::regex_match(k,r); }
